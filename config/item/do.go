package item

import (
	"fmt"
	"slices"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Do is one change that an endpoint makes. For each request, either all changes are made or none.
type Do struct {
	ByKey syntax.Text `key:"key"` // an operand: the key of the row
	Pos   syntax.Pos
	Key   string
	Verb  string // one of Verbs

	In      syntax.Text // the set
	As      string      // the name of the row as it is after the change; "" for none
	Row     Made        // insert: the new row
	With    Made        // put: the row; merge: the members that are merged into it
	Set     []Setting   // insert, put and merge: members of the row
	Field   syntax.Text // add: the member, a.b for a nested one
	By      syntax.Text // add: an operand
	AtLeast syntax.Text // add: an operand; empty for no bound
	AtMost  syntax.Text // add: an operand; empty for no bound
	Else    *Response   // the answer if the change cannot be made; nil means an error
}

// Verbs are the kinds of changes, which are keys of the items of do. The slice must not be
// modified.
var Verbs = []string{"insert", "put", "merge", "add", "delete"}

var doFields = []table.Field[Do]{
	table.Of[Do](table.Row{Key: "in", Doc: "the set", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Do](table.Row{Key: "as", Doc: "the name of the row as it is after the change", Kinds: table.Texts, Pattern: namePattern, Form: nameForm, Is: isName}),
	elseField,
}

var keyField = table.Of[Do](table.Row{Key: "key", Of: "key", Doc: "an operand: the key of the row", Required: true, Kinds: table.Scalars})

var setField = table.By[Do](table.Row{Key: "set", Doc: "members of the row and their values", Kinds: table.Maps, Value: &table.Row{Kinds: table.Anything}}, decodeSettings)

var elseField = table.With(table.Row{Key: "else", Doc: "the answer if the change cannot be made", Kinds: table.Maps, Table: table.Rows(ResponseFields)},
	func(d *table.Decoder, v table.Value, o *Do) {
		o.Else = new(Response)
		o.Else.decode(d, v)
	})

var verbFields = []table.Field[Do]{
	verb("insert", "adds a row", madeField("row", "the row: a map, or a placeholder for one; {} by default"), setField),
	verb("put", "replaces a row, or adds it", keyField, setField,
		madeField("with", "the new row, which replaces any existing row with this key")),
	verb("merge", "changes members of a row", keyField, setField,
		madeField("with", "a JSON merge patch for the row")),
	verb("add", "adds to a number in a row", keyField,
		table.Of[Do](table.Row{Key: "field", Doc: "the member to add to, a.b for a nested one", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[Do](table.Row{Key: "by", Doc: "an operand: how much to add", Required: true, Kinds: table.Scalars}),
		table.Of[Do](table.Row{Key: "at-least", Doc: "an operand: the minimum of the sum", Kinds: table.Scalars}),
		table.Of[Do](table.Row{Key: "at-most", Doc: "an operand: the maximum of the sum", Kinds: table.Scalars})),
	verb("delete", "deletes a row", keyField),
}

var doItem = &table.Row{Kinds: table.Maps, Form: "a map with one key, " + wording.OneOf(Verbs), Table: table.Rows(verbFields)}

// verb returns the key of one kind of change, whose own keys are added to those of all kinds.
func verb(name, doc string, keys ...table.Field[Do]) table.Field[Do] {
	fields := slices.Concat(doFields, keys)
	return table.With(table.Row{Key: name, Doc: doc, Kinds: table.Maps, Table: table.Rows(fields)}, func(d *table.Decoder, v table.Value, o *Do) {
		o.Verb, o.Key = name, v.Key
		table.Fill(d, v.Node, v.Key, fields, o)
	})
}

func madeField(key, doc string) table.Field[Do] {
	return table.By[Do](table.Row{Key: key, Doc: doc, Kinds: table.Texts | table.Maps, Value: &table.Row{Kinds: table.Anything}}, decodeMade)
}

// decodeDo returns the changes that an endpoint or one of its answers makes.
func decodeDo(d *table.Decoder, v table.Value) []Do {
	var all []Do
	for one := range d.Items(v) {
		o := Do{Pos: one.Pos(), Key: one.Key}
		table.Fill(d, one.Node, one.Key, verbFields, &o)
		if n := len(one.Entries); n != 1 {
			d.About(one, "has %s; expected %s", wording.Count(n, "key"), one.Row.Form)
		} else if o.Verb != "" {
			all = append(all, o)
		}
	}
	return all
}

// checkChanges checks the changes of the endpoint or outcome at the given keys.
func checkChanges(c *table.Checker, all []Do, finds bool, place []string) {
	for i := range all {
		o := &all[i]
		at := table.Below(place, fmt.Sprintf("do[%d]", i))
		if o.Else != nil {
			checkResponse(c, o.Else, finds, table.Below(at, o.Verb, "else"))
			if o.Else.HasStream() {
				c.Wrong("is not possible here; expected a body", table.Below(at, o.Verb, "else", "stream")...)
			}
		}
	}
}
