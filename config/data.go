package config

import "time"

// Data is a set of rows that endpoints find and change, for NewData.
type Data struct {
	Name    string     // unique among sets and scenarios
	From    *DataFile  // the file of the rows
	Rows    []any      // the rows if there is no file: values that encoding/json writes as objects
	Key     string     // the member that is the key, a.b for a nested one; "" means id
	NewKey  string     // how the keys of new rows are made: "uuid" (also ""), "uuid7", "ulid", "int" or a template
	Index   []string   // members that rows can be found by
	Sort    []string   // members that lists can be sorted by
	Types   []DataType // the types of columns of a table; text for all other columns
	Infer   bool       `key:"types,infer"` // the type of a cell is inferred from its text
	Isolate string     // an operand: each of its values has its own changes

	Limit    *DataLimit    // nil means that only the limit for all sets together applies
	Full     string        // FullRefuse (also "") or FullOldest
	TTL      time.Duration // how long a change is kept; 0 means forever
	Steps    *Steps        // how a member changes over time; nil for not at all
	OnChange string        // what happens to changes when the file changes: ChangeKeep (also "") or ChangeReset

	Dir string `key:"-"` // where relative file names are looked up first; "" is the working directory
}

// DataFile is a file of rows: .csv, .tsv, .json, .ndjson, .jsonl or .xlsx. All formats except .xlsx
// may be compressed as .gz or .zst.
type DataFile struct {
	Path      string
	Separator string // between the cells of .csv and .tsv; "" means the default for the extension
	Sheet     string `key:"sheet-name"` // of .xlsx
}

// Find names a row of a set, for use in the conditions, texts and webhooks of an endpoint.
type Find struct {
	Name  string
	In    string    // the set
	Key   string    // an operand: the key of the row
	Where []Setting // instead of Key: members and the operands that they must equal
	Pick  string    // which of several rows: "first" (also ""), "newest", "next", "once" or "random"
	Hash  string    `key:"pick.hash"` // an operand: equal values pick the same row; instead of Pick
}

// Setting is a name and its value: a member of a row, a value of Let, or the state that a scenario
// is led to. A value that is not a string is used as JSON.
type Setting struct {
	Name  string
	Value any
}

// Do is one change that an endpoint makes: insert, put, merge, add or delete. For each request,
// either all changes are made or none.
type Do struct {
	Verb    string    `key:"-"`
	In      string    // the set
	Key     string    // an operand: the key of the row; not for insert
	As      string    // the name of the row as it is after the change
	Row     any       // insert: the new row
	With    any       // put: the row; merge: the members that are merged into it
	Set     []Setting // insert, put and merge: members of the row
	Field   string    // add: the member, a.b for a nested one
	By      string    // add: an operand
	AtLeast string    // add: an operand, the minimum of the sum
	AtMost  string    // add: an operand, the maximum of the sum
	Else    *Response // sent if the change cannot be made; nil means an error
}

// InState says in which states of a scenario, which a file declares, an endpoint answers.
type InState struct {
	Name string // the scenario
	Is   []string
	Key  string // an operand, instead of the scenario's
}

// Steps say how a member of the rows of a set changes over time.
type Steps struct {
	Field string
	First string // the value of the member in a new row that lacks it; "" leaves the member out
	Moves []Move `key:"move"`
}

// Move is a change to a row that happens some time after a member got a certain value.
type Move struct {
	From     string
	After    *Latency  // without rates
	To       []Choice  // one of them is chosen, by weight
	Set      []Setting // further members of the row
	Webhooks []Webhook // sent when the row changes
}
