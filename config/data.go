package config

// Find names a row of a set, for use in the conditions, texts and webhooks of an endpoint.
type Find struct {
	Name  string
	In    string    // the set
	Key   string    // an operand: the key of the row
	Where []Setting // instead of Key: members and the operands that they must equal
	Pick  string    // which of several rows: "first" (also ""), "newest", "next", "once", "random" or "all"
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
