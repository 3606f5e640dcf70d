package item

import (
	"slices"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Find gives a row of a set a name, for the conditions, texts and webhooks of an endpoint.
type Find struct {
	ByKey syntax.Text `key:"key"` // an operand: the key of the row; empty for a row that is found by Where
	Pos   syntax.Pos
	Key   string
	Name  string
	In    syntax.Text // the set
	Where []Where     // members and the operands that they must equal
	Pick  string      // which of several rows: one of Picks; "" means the first, all a list of all of them
	Hash  syntax.Text // an operand: equal values pick the same row; instead of Pick
}

// Where is a member and the operand that it must equal.
type Where struct {
	Name  string
	Value syntax.Text `key:""`
}

// Picks are the ways of choosing one of several rows, the default first. The slice must not be
// modified.
var Picks = []string{"first", "newest", "next", "once", "random", "all"}

var findFields = []table.Field[Find]{
	table.Of[Find](table.Row{Key: "in", Doc: "the set", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Find](table.Row{Key: "key", Of: "key", Unless: "where", Doc: "an operand: the key of the row", Kinds: table.Scalars}),
	table.By[Find](table.Row{Key: "where", Doc: "members and the operands that they must equal", Kinds: table.Maps, Value: &table.Row{Kinds: table.Scalars | table.Nulls}}, decodeWhere),
	table.With(table.Row{Key: "pick", Doc: "which of several rows: first (the default), newest, next, once, random, {hash: operand}, or all for a list of them",
		Kinds: table.Texts | table.Maps, Form: wording.OneOf(Picks) + ", or a map with hash", Table: table.Rows(hashFields)}, setPick),
}

var hashFields = []table.Field[Find]{
	table.Of[Find](table.Row{Key: "hash", Doc: "an operand: equal values pick the same row", Required: true, Kinds: table.Scalars}),
}

func decodeWhere(d *table.Decoder, v table.Value) []Where {
	var all []Where
	for name, one := range d.Entries(v) {
		text := one.AsText()
		if one.Kind == syntax.NullNode {
			text.Value = "null"
		}
		all = append(all, Where{name.Text.Value, text})
	}
	if len(v.Entries) == 0 {
		d.About(v, "is an empty map; expected a member and the operand that it must equal")
	}
	return all
}

func setPick(d *table.Decoder, v table.Value, f *Find) {
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
func decodeFinds(d *table.Decoder, v table.Value) []Find {
	var finds []Find
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := v.Part(e.Value, "."+wording.Label(name), v.Row.Value)
		if !isName(name) {
			d.About(table.Value{Node: e.Key, Key: one.Key}, "is not %s", nameForm)
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
