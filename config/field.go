package config

import (
	"fmt"
	"slices"
	"strings"
)

// kinds is a set of node kinds.
type kinds uint8

const (
	nulls   kinds = 1 << nullNode
	bools   kinds = 1 << boolNode
	numbers kinds = 1 << numberNode
	texts   kinds = 1 << textNode
	lists   kinds = 1 << listNode
	maps    kinds = 1 << mapNode

	scalars  = bools | numbers | texts
	anything = nulls | scalars | lists | maps
)

func (k kinds) has(kind kind) bool { return k&(1<<kind) != 0 }

// String lists the kinds: "a text, a list or a map". That a value may be left
// empty is not worth a word.
func (k kinds) String() string {
	var names []string
	for _, kind := range []kind{textNode, numberNode, boolNode, listNode, mapNode} {
		if k.has(kind) {
			names = append(names, kind.String())
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// row describes one key of a map of the language: all that a message or a schema
// of the language says about it.
type row struct {
	key      string
	doc      string // what it means, as a clause
	required bool
	kinds    kinds
	enum     []string // the texts accepted, when only some are
	min, max int      // bounds of an integer; both 0 for none
	form     string   // what a text looks like, where its kind does not tell
}

// accepts says what a value may be: "an integer from 200 to 599".
func (r row) accepts() string {
	switch {
	case r.form != "":
		return r.form
	case r.max > 0:
		return fmt.Sprintf("an integer from %d to %d", r.min, r.max)
	case len(r.enum) > 0:
		return oneOf(r.enum)
	}
	return r.kinds.String()
}

// field is one key of a map that is decoded into a T.
type field[T any] struct {
	row
	set func(d *decoder, v value, into *T)
}

// value is a node where it stands: nodes that aliases share stand at several
// places, so a node does not know its key path.
type value struct {
	*node
	key string
	row row
}

// asText returns the text of a scalar at its place.
func (v value) asText() Text {
	t := v.text
	t.Key = v.key
	return t
}

// decoder collects the mistakes of one file.
type decoder struct {
	problems Problems
	// reported are the key paths found wrong in the current endpoint: what is built
	// without them is not to be complained of again.
	reported map[string]bool
}

func (d *decoder) wrong(pos Pos, key, format string, args ...any) {
	if d.reported == nil {
		d.reported = map[string]bool{}
	}
	d.reported[key] = true
	d.problems = append(d.problems, Problem{Pos: pos, Key: key, What: fmt.Sprintf(format, args...)})
}

// refuse says that a value is none of those that its key accepts.
func (d *decoder) refuse(v value) {
	hint := ""
	if v.kind == textNode && len(v.row.enum) > 0 {
		hint = DidYouMean(v.text.Value, v.row.enum)
	}
	d.wrong(v.pos(), v.key, "is %s%s; %s is accepted", v.shown(), hint, v.row.accepts())
}

// fill decodes the entries of a map by the table of its fields.
func fill[T any](d *decoder, n *node, key string, fields []field[T], into *T) {
	misspelt := map[string]bool{} // the keys that unknown ones seem to mean
	for _, e := range n.entries {
		name := e.key.text.Value
		at := key + "." + name
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.key == name })
		if i < 0 {
			names := keysOf(fields)
			misspelt[nearest(name, names)] = true
			d.wrong(e.key.pos(), at, "unknown key%s; accepted are %s", DidYouMean(name, names), strings.Join(names, ", "))
			continue
		}
		v := value{node: e.value, key: at, row: fields[i].row}
		if !v.row.kinds.has(v.kind) {
			d.refuse(v)
			continue
		}
		fields[i].set(d, v, into)
	}
	for _, f := range fields {
		switch {
		case !f.required || n.get(f.key) != nil:
		case misspelt[f.key]:
			d.reported[key+"."+f.key] = true // said already
		default:
			d.wrong(n.pos(), key, "%s is missing: %s", f.key, f.doc)
			d.reported[key+"."+f.key] = true
		}
	}
}

func keysOf[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return names
}

// toText is the setter of a text that is compiled later.
func toText[T any](at func(*T) *Text) func(*decoder, value, *T) {
	return func(_ *decoder, v value, into *T) {
		if v.kind != nullNode {
			*at(into) = v.asText()
		}
	}
}

// toString is the setter of a plain text.
func toString[T any](at func(*T) *string) func(*decoder, value, *T) {
	return func(_ *decoder, v value, into *T) { *at(into) = v.text.Value }
}

// toBool is the setter of a boolean.
func toBool[T any](at func(*T) *bool) func(*decoder, value, *T) {
	return func(_ *decoder, v value, into *T) { *at(into) = v.truth() }
}
