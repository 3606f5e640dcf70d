package item

import (
	"cmp"
	"slices"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Data is a set of rows that endpoints find and change. Its rows come from a file or from the
// declaration; requests then change them.
type Data struct {
	Member syntax.Text `key:"key"` // the member that is the key, a.b for a nested one; empty means DefaultKey
	Pos    syntax.Pos
	Key    string // "[3].data"
	Dir    string // the directory in which relative file names are looked up; "" is the working directory

	Name    string        // unique among sets and scenarios
	From    *DataFile     // the file of the rows; nil for none
	Rows    []syntax.Text // the rows as JSON texts, if there is no file
	NewKey  syntax.Text   // how the keys of new rows are made; empty means NewKeyUUID
	Index   []syntax.Text // members that rows can be found by
	Sort    []syntax.Text // members that lists can be sorted by
	Types   []DataType    // the types of columns of a table; text for all other columns
	Infer   bool          // the type of a cell is inferred from its text
	Isolate syntax.Text   // an operand: each of its values has its own changes; empty for none

	Limit    *DataLimit    // nil means that only the limit for all sets together applies
	Full     string        // FullRefuse (also "") or FullOldest
	TTL      time.Duration // how long a change is kept; 0 means forever
	Steps    *Steps        // how a member changes over time; nil for not at all
	Updated  string        `key:""` // the member that holds the time of the last change, for steps; "" for none
	OnChange string        // what happens to changes when the file changes: ChangeKeep (also "") or ChangeReset
}

// DataFile is a file of rows: .csv, .tsv, .json, .ndjson, .jsonl or .xlsx. All formats except .xlsx
// may be compressed as .gz or .zst.
type DataFile struct {
	Pos       syntax.Pos
	Key       string
	Path      syntax.Text
	Separator string      // between the cells of .csv and .tsv; "" means the default for the extension
	Sheet     syntax.Text `key:"sheet-name"` // of .xlsx
}

// DataType is the type of a column.
type DataType struct {
	Name string
	Type string // one of DataTypes
}

// DataLimit limits the changes to a set.
type DataLimit struct {
	Rows   int // 0 means no limit
	Memory int // bytes; 0 means no limit
}

// The values of the keys of data.
const (
	DefaultKey  = "id"
	FullRefuse  = "refuse" // a change for which there is no room is refused
	FullOldest  = "oldest" // the oldest changes are discarded to make room
	ChangeKeep  = "keep"
	ChangeReset = "reset"
	NewKeyUUID  = "uuid"
	NewKeyInt   = "int"
)

const (
	infer        = "infer"
	membersForm  = "a list of members, such as [status]"
	maxLimitRows = 1_000_000_000
)

// DataTypes are the types of columns. The slice must not be modified.
var DataTypes = []string{"text", "integer", "number", "boolean", "json"}

// NewKeys are the named ways of making keys; any other text is a template. The slice must not be
// modified.
var NewKeys = []string{NewKeyUUID, "uuid7", "ulid", NewKeyInt}

var dataFields = []table.Field[Data]{
	table.Of[Data](table.Row{Key: "name", Doc: "the name by which endpoints refer to it", Required: true, Kinds: table.Texts, Pattern: dataNamePattern, Form: dataNameForm, Is: isDataName}),
	table.Map[Data](table.Row{Key: "from", Unless: "rows", Doc: "the file with its rows", Form: "a map, such as {path: rows.csv}"}, dataFileFields),
	table.With(table.Row{Key: "rows", Doc: "the rows themselves, each a map", Kinds: table.Lists, Form: "a list of maps", Item: &table.Row{Kinds: table.Maps}}, setRows),
	table.Of[Data](table.Row{Key: "key", Of: "key", Doc: "the member that is the key; id by default", Kinds: table.Texts, Filled: true}),
	table.Of[Data](table.Row{Key: "new-key", Doc: "how the key of a new row is made: uuid (the default), uuid7, ulid, int, or a template", Kinds: table.Texts, Filled: true}),
	table.Of[Data](table.Row{Key: "index", Doc: "members that rows can be found by", Kinds: table.Lists, Form: membersForm, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
	table.Of[Data](table.Row{Key: "sort", Doc: "members that lists can be sorted by", Kinds: table.Lists, Form: membersForm, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
	table.With(table.Row{Key: "types", Doc: "the types of the columns of a table, text by default; infer derives the type of each cell from its text",
		Kinds: table.Maps | table.Texts, Form: "infer, or a map of columns to types", Value: &table.Row{Kinds: table.Texts, Enum: DataTypes}}, setTypes),
	table.Of[Data](table.Row{Key: "isolate", Doc: "an operand, such as header-params.X-VU: each of its values sees only its own changes; by default all requests share them", Kinds: table.Texts, Filled: true}),
	table.Map[Data](table.Row{Key: "limit", Doc: "how many changes are kept"}, dataLimitFields),
	table.Of[Data](table.Row{Key: "full", Doc: "what happens when the limit is reached: refuse (the default) or oldest", Kinds: table.Texts, Enum: []string{FullRefuse, FullOldest}}),
	table.Of[Data](table.Row{Key: "ttl", Doc: "how long a change is kept; forever by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[Data](table.Row{Key: "on-change", Doc: "what happens to the changes when the file changes: keep (the default) or reset", Kinds: table.Texts, Enum: []string{ChangeKeep, ChangeReset}}),
	table.By[Data](stepsField, decodeSteps),
}

var dataFileFields = []table.Field[DataFile]{
	table.Of[DataFile](table.Row{Key: "path", Doc: "the file: .csv, .tsv, .json, .ndjson, .jsonl or .xlsx, all but the last also compressed as .gz or .zst", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[DataFile](table.Row{Key: "separator", Doc: "what separates the cells of .csv; a comma by default", Kinds: table.Texts, Enum: []string{",", ";", "\t", "|"}}),
	table.Of[DataFile](table.Row{Key: "sheet-name", Doc: "the sheet of .xlsx; the first by default", Kinds: table.Scalars}),
}

var dataLimitFields = []table.Field[DataLimit]{
	table.Of[DataLimit](table.Row{Key: "rows", Doc: "how many rows may be changed or added", Kinds: table.Numbers, Min: 1, Max: maxLimitRows}),
	table.By[DataLimit](table.Row{Key: "memory", Doc: "how much memory the changes may take, such as 256MiB", Kinds: table.Texts | table.Numbers, Form: table.SizeForm, Pattern: table.SizePattern}, (*table.Decoder).Size),
}

func setRows(d *table.Decoder, v table.Value, s *Data) {
	for one := range d.Items(v) {
		s.Rows = append(s.Rows, decodeJSON(d, one, true))
	}
}

func setTypes(d *table.Decoder, v table.Value, s *Data) {
	if v.Kind == syntax.TextNode {
		if s.Infer = v.Text.Value == infer; !s.Infer {
			d.Refuse(v)
		}
		return
	}
	for name, one := range d.Entries(v) {
		if !slices.Contains(DataTypes, one.Text.Value) {
			d.Refuse(one)
			continue
		}
		s.Types = append(s.Types, DataType{name.Text.Value, one.Text.Value})
	}
}

// EffectiveMember returns the member that is the key.
func (s *Data) EffectiveMember() string { return cmp.Or(s.Member.Value, DefaultKey) }

// Fingerprint returns a text that is the same for sets with equal declarations in files of the same
// directory.
func (s *Data) Fingerprint() string {
	return Digest(*s) + s.Dir
}
