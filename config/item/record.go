package item

import (
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/flags"
	"mockserver/internal/semantics"
)

// Record says how the requests to an upstream are recorded.
type Record struct {
	Pos    syntax.Pos
	Key    string
	To     string      // the directory of the recordings
	Mode   string      // RecordAll (also "") or RecordMissing
	If     syntax.Text // a condition on the requests to record; an empty text means all
	Sample int         // the bodies of one in this many requests are kept; 0 means all
	Bodies int         // the largest body that is kept, in bytes; 0 means DefaultBodies
	Limit  int         // how many bytes are recorded before bodies are left out; 0 means DefaultRecordLimit
	Redact *Redact     // nil redacts only the headers that hold secrets
}

// Redact says which values are replaced in recordings, in addition to headers that hold secrets.
type Redact struct {
	Pos     syntax.Pos
	Key     string
	Headers []string
	JSON    []string `key:"json"` // members, a.b for a nested one; in arrays, the members of each element
	Query   []string // parameters of the query, and of bodies that are forms
}

// The values of the keys of record, and their defaults.
const (
	RecordAll     = "all"
	RecordMissing = "missing" // recorded answers are served; only other requests reach the upstream

	DefaultBodies      = 1 << 20
	DefaultRecordLimit = 1 << 30
	MaxBodies          = 64 << 20

	maxSample = 1_000_000_000
)

var recordFields = []table.Field[Record]{
	table.Of[Record](table.Row{Key: "to", Doc: "the directory of the recordings", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Record](table.Row{Key: "mode", Doc: "all (the default), or missing: answer from the recordings, and ask the upstream only for the rest", Kinds: table.Texts, Enum: []string{RecordAll, RecordMissing}}),
	table.Of[Record](table.Row{Key: "if", Doc: "the condition under which a request is recorded", Kinds: table.Scalars | table.Nulls}),
	table.Of[Record](table.Row{Key: "sample", Doc: "the bodies of one in this many requests are kept, 1 by default; times and statuses are kept for all", Kinds: table.Numbers, Min: 1, Max: maxSample}),
	table.By[Record](table.Row{Key: "bodies", Doc: "the largest body that is kept, 1MiB by default; for larger ones, their length and a hash", Kinds: table.Texts | table.Numbers, Form: "a size of at most 64MiB, such as 256KiB"}, decodeBodies),
	table.By[Record](table.Row{Key: "limit", Doc: "how much is written before bodies are left out; 1GiB by default", Kinds: table.Texts | table.Numbers, Form: flags.SizeForm}, (*table.Decoder).Size),
	table.Map[Record](table.Row{Key: "redact", Doc: "values that are replaced, in addition to headers that hold secrets"}, redactFields),
}

var redactFields = []table.Field[Redact]{
	table.Of[Redact](table.Row{Key: "headers", Doc: "names of headers", Kinds: table.Lists, Item: &table.Row{Kinds: table.Texts, Pattern: tokenPattern, Form: "the name of a header", Is: semantics.IsToken}}),
	table.Of[Redact](table.Row{Key: "json", Doc: "members of JSON bodies, such as card.number", Kinds: table.Lists, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
	table.Of[Redact](table.Row{Key: "query", Doc: "parameters of the query, and fields of forms", Kinds: table.Lists, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
}

// decodeBodies returns the size of the largest body that is kept.
func decodeBodies(d *table.Decoder, v table.Value) int {
	size := d.Size(v)
	if size > MaxBodies {
		d.Refuse(v)
	}
	return size
}
