package config

import (
	"fmt"
	"slices"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Find gives a row of a set a name, for the conditions, texts and webhooks of an endpoint.
type Find struct {
	ByKey syntax.Text `key:"key"` // an operand: the key of the row; empty if it is found otherwise
	Pos   syntax.Pos  // left zero in Go
	Key   string      // left "" in Go
	Name  string
	In    syntax.Text // the set
	Where []Where     // members and what they have to equal
	Pick  string      // which of several rows: one of Picks; "" means the first
	Hash  syntax.Text // an operand: the same row for the same value; instead of Pick
}

// Where is a member and the operand that it has to equal.
type Where struct {
	Name  string
	Value syntax.Text `key:""`
}

// Picks are the ways of choosing one of several rows, the default first. It must not be modified.
var Picks = []string{"first", "newest", "next", "once", "random"}

// Do is one change that an endpoint makes. All changes of a request happen, or none.
type Do struct {
	ByKey syntax.Text `key:"key"` // an operand: the key of the row
	Pos   syntax.Pos  // left zero in Go
	Key   string      // left "" in Go
	Verb  string      // one of Verbs

	In      syntax.Text // the set
	As      string      // the name of the row as it is after the change; "" for none
	Row     Made        // insert: the row
	With    Made        // put: the row; merge: what is merged into it
	Set     []Setting   // insert, put and merge: members of the row
	Field   syntax.Text // add: the member, a.b for a nested one
	By      syntax.Text // add: an operand
	AtLeast syntax.Text // add: an operand; empty for no bound
	AtMost  syntax.Text // add: an operand; empty for no bound
	Else    *Response   // the answer if it cannot be done; nil means an error
}

// Made is a value that a request makes: a text with placeholders or, with JSON, the JSON text of a
// value. If the text is one placeholder and nothing else, it is the value of the placeholder.
type Made struct {
	Text syntax.Text `key:""`
	JSON bool
}

// Setting is a member of a row and its value.
type Setting struct {
	Name  string
	Value Made `key:""`
}

// Verbs are the changes, the keys of the items of do. It must not be modified.
var Verbs = []string{"insert", "put", "merge", "add", "delete"}

var (
	findFields = []table.Field[Find]{
		table.Of[Find](row{Key: "in", Doc: "the set", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[Find](row{Key: "key", Of: "key", Unless: "where", Doc: "an operand: the key of the row", Kinds: table.Scalars}),
		table.With(row{Key: "where", Doc: "members and what they have to equal", Kinds: table.Maps, Value: &row{Kinds: table.Scalars | table.Nulls}},
			func(d *decoder, v value, f *Find) { f.Where = decodeWhere(d, v) }),
		table.With(row{Key: "pick", Doc: "which of several rows: first (the default), newest, next, once, random, or {hash: operand}",
			Kinds: table.Texts | table.Maps, Form: wording.OneOf(Picks) + ", or a map with hash", Table: table.Rows(hashFields)}, setPick),
	}
	hashFields = []table.Field[Find]{
		table.Of[Find](row{Key: "hash", Doc: "an operand: the same row for the same value", Required: true, Kinds: table.Scalars}),
	}
	doFields = []table.Field[Do]{
		table.Of[Do](row{Key: "in", Doc: "the set", Required: true, Kinds: table.Texts, Filled: true}),
		table.With(row{Key: "as", Doc: "the name of the row as it is after the change", Kinds: table.Texts, Pattern: namePattern, Form: nameForm},
			func(d *decoder, v value, o *Do) { o.As = decodeName(d, v, isName) }),
		elseField,
	}
	keyField  = table.Of[Do](row{Key: "key", Of: "key", Doc: "an operand: the key of the row", Required: true, Kinds: table.Scalars})
	setField  = table.With(row{Key: "set", Doc: "members of the row and their values", Kinds: table.Maps, Value: &row{Kinds: table.Anything}}, setSettings)
	elseField = table.With(row{Key: "else", Doc: "the answer if it cannot be done", Kinds: table.Maps, Table: table.Rows(responseFields)},
		func(d *decoder, v value, o *Do) {
			o.Else = new(Response)
			o.Else.begin(v)
			table.Fill(d, v.Node, v.Key, responseFields, o.Else)
		})
	verbFields = []table.Field[Do]{
		verb("insert", "adds a row", madeField("row", "the row, a map or what a placeholder gives; {} when left out", func(o *Do) *Made { return &o.Row }), setField),
		verb("put", "replaces a row, or adds it", keyField, setField,
			madeField("with", "the row, in place of the one with the key, if there is one", func(o *Do) *Made { return &o.With })),
		verb("merge", "changes members of a row", keyField, setField,
			madeField("with", "what is merged into the row as a JSON merge patch", func(o *Do) *Made { return &o.With })),
		verb("add", "adds to a number of a row", keyField,
			table.Of[Do](row{Key: "field", Doc: "the member that is added to, a.b for a nested one", Required: true, Kinds: table.Texts, Filled: true}),
			table.Of[Do](row{Key: "by", Doc: "an operand: how much is added", Required: true, Kinds: table.Scalars}),
			table.Of[Do](row{Key: "at-least", Doc: "an operand: the least that the sum may be", Kinds: table.Scalars}),
			table.Of[Do](row{Key: "at-most", Doc: "an operand: the most that the sum may be", Kinds: table.Scalars})),
		verb("delete", "deletes a row", keyField),
	}
	doItem = &row{Kinds: table.Maps, Form: "a map with one key, " + wording.OneOf(Verbs), Table: table.Rows(verbFields)}
)

// verb is one kind of change, with keys in addition to those of all.
func verb(name, doc string, keys ...table.Field[Do]) table.Field[Do] {
	fields := slices.Concat(doFields, keys)
	return table.With(row{Key: name, Doc: doc, Kinds: table.Maps, Table: table.Rows(fields)}, func(d *decoder, v value, o *Do) {
		o.Verb, o.Key = name, v.Key
		table.Fill(d, v.Node, v.Key, fields, o)
	})
}

// What the names of rows look like.
const (
	namePattern = `^[A-Za-z][A-Za-z0-9_-]*$`
	nameForm    = "a name: a letter, followed by letters, digits, - and _"
)

func madeField(key, doc string, at func(*Do) *Made) table.Field[Do] {
	return table.With(row{Key: key, Doc: doc, Kinds: table.Texts | table.Maps, Value: &row{Kinds: table.Anything}}, func(d *decoder, v value, o *Do) { *at(o) = decodeMade(d, v) })
}

// decodeMade returns a value that a request makes.
func decodeMade(d *decoder, v value) Made {
	if v.Kind == syntax.TextNode {
		return Made{Text: v.AsText()}
	}
	return Made{decodeJSON(d, v, false), true}
}

func setSettings(d *decoder, v value, o *Do) { o.Set = decodeSettings(d, v) }

func decodeSettings(d *decoder, v value) []Setting {
	var all []Setting
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := value{Node: e.Value, Key: table.Under(v.Key, name)}
		all = append(all, Setting{name, decodeMade(d, one)})
	}
	return all
}

func setLet(d *decoder, v value, e *Endpoint) {
	for _, entry := range v.Entries {
		if name := entry.Key.Text.Value; !isName(name) {
			d.About(value{Node: entry.Key, Key: table.Under(v.Key, name)}, "is not %s", nameForm)
		}
	}
	e.Let = decodeSettings(d, v)
}

func decodeWhere(d *decoder, v value) []Where {
	var all []Where
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := v.Part(e.Value, "."+wording.Label(name), v.Row.Value)
		if !d.Take(one) {
			continue
		}
		text := one.AsText()
		if one.Kind == syntax.NullNode {
			text.Value = "null"
		}
		all = append(all, Where{name, text})
	}
	if len(v.Entries) == 0 {
		d.About(v, "is an empty map; expected a member and what it has to equal")
	}
	return all
}

func setPick(d *decoder, v value, f *Find) {
	switch {
	case v.Kind == syntax.MapNode:
		table.Fill(d, v.Node, v.Key, hashFields, f)
	case slices.Contains(Picks, v.Text.Value):
		f.Pick = v.Text.Value
	default:
		d.Refuse(v)
	}
}

// decodeFinds returns the rows that an endpoint names.
func decodeFinds(d *decoder, v value) []Find {
	var finds []Find
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := v.Part(e.Value, "."+wording.Label(name), v.Row.Value)
		if !isName(name) {
			d.About(value{Node: e.Key, Key: one.Key}, "is not %s", nameForm)
		}
		if !d.Take(one) {
			continue
		}
		f := Find{Pos: one.Pos(), Key: one.Key, Name: name}
		table.Fill(d, one.Node, one.Key, findFields, &f)
		finds = append(finds, f)
	}
	return finds
}

// isName reports whether a text can be the name of a row.
func isName(name string) bool {
	for i, b := range []byte(name) {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if !letter && (i == 0 || b != '-' && b != '_' && (b < '0' || b > '9')) {
			return false
		}
	}
	return name != ""
}

// decodeDo returns the changes of an endpoint or of one of its answers.
func decodeDo(d *decoder, v value) []Do {
	var all []Do
	for _, one := range v.Parts() {
		if !d.Take(one) {
			continue
		}
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

// changes checks what the endpoint or outcome at the given keys changes.
func (c *checker) changes(all []Do, place []string) {
	for i := range all {
		o := &all[i]
		at := below(place, fmt.Sprintf("do[%d]", i))
		if c.node == nil && !slices.Contains(Verbs, o.Verb) {
			c.wrong(fmt.Sprintf("%q is not a change; expected %s", wording.Clip(o.Verb), wording.OneOf(Verbs)), at...)
		}
		if o.Else != nil {
			c.answer(o.Else, below(at, o.Verb, "else"))
		}
	}
}
