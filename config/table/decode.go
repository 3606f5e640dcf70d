package table

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// Field is one key of a map that is decoded into a T.
type Field[T any] struct {
	Row
	Set func(d *Decoder, v Value, into *T)
}

// With returns the field of a key that set decodes.
func With[T any](r Row, set func(d *Decoder, v Value, into *T)) Field[T] {
	return Field[T]{Row: r, Set: set}
}

// Value is a node with its key path. A node that is shared by aliases has several key paths, so it
// does not know its own.
type Value struct {
	*syntax.Node
	Key  string // its key path
	Name string // the key in a map with a table, as written
	Row  Row
}

// AsText returns the text of a scalar with its position.
func (v Value) AsText() syntax.Text {
	t := v.Text
	t.Key = v.Key
	return t
}

// Decoder collects the errors of one file.
type Decoder struct {
	syntax.Collector
	// Reported are the key paths of the current item with an error: errors that follow from them
	// are not reported again.
	Reported map[string]bool
	// Hint returns a suggestion for a word, at a key path, that another tool uses as a key, and the key that it
	// means if that is one of keys. Both are "" for any other word.
	Hint func(at, name string, keys []string) (hint, key string)
	Dir  string // where relative names of files are looked up first
	// Files are the files that values name and whose content decoding uses, whether they exist or
	// not.
	Files []string
}

// Wrong reports an error at a key path.
func (d *Decoder) Wrong(pos syntax.Pos, key, format string, args ...any) {
	d.Known(key)
	if !d.Full() {
		d.Add(syntax.Problem{Pos: pos, Key: key, What: fmt.Sprintf(format, args...)})
	}
}

// Known marks the value at a key path as wrong and already reported.
func (d *Decoder) Known(key string) {
	if d.Full() && d.Reported != nil {
		return // no more errors are reported
	}
	if d.Reported == nil {
		d.Reported = map[string]bool{}
	}
	d.Reported[key] = true
}

// AddAll adds problems of the current item.
func (d *Decoder) AddAll(ps syntax.Problems) {
	for _, p := range ps {
		if !p.Warning {
			d.Known(p.Key)
		}
		d.Add(p)
	}
}

// Under returns the key path for a key of a map.
func Under(key, name string) string { return key + "." + wording.Label(name) }

// About does the same as Wrong for a value, except for one that its reader has refused: the node is
// then not the original value, and the error has been reported already.
func (d *Decoder) About(v Value, format string, args ...any) {
	if v.Faulty {
		d.Known(v.Key)
		return
	}
	d.Wrong(v.Pos(), v.Key, format, args...)
}

// Part returns a value inside another one that is a list, or a map without a table.
func (v Value) Part(n *syntax.Node, key string, r *Row) Value {
	return Value{Node: n, Key: v.Key + key, Row: *r}
}

// Parts returns the items of a list.
func (v Value) Parts() []Value {
	all := make([]Value, len(v.Items))
	for i, n := range v.Items {
		all[i] = v.Part(n, "["+strconv.Itoa(i)+"]", v.Row.Item)
	}
	return all
}

// Items iterates over the items of a list that are of an accepted kind, and reports the others.
func (d *Decoder) Items(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, one := range v.Parts() {
			if d.Take(one) && !yield(one) {
				return
			}
		}
	}
}

// Entries is like Items, for the keys and values of a map without a table.
func (d *Decoder) Entries(v Value) iter.Seq2[*syntax.Node, Value] {
	return func(yield func(*syntax.Node, Value) bool) {
		for _, e := range v.Entries {
			if one := v.Part(e.Value, "."+wording.Label(e.Name()), v.Row.Value); d.Take(one) && !yield(e.Key, one) {
				return
			}
		}
	}
}

// Take reports whether a value has a kind that its row accepts. If it does not, Take adds an error.
func (d *Decoder) Take(v Value) bool {
	if v.Faulty {
		d.Known(v.Key)
	}
	if !v.Row.Kinds.Has(v.Kind) {
		d.Refuse(v)
		return false
	}
	return true
}

// Refuse reports the error that a value is not accepted for its key.
func (d *Decoder) Refuse(v Value) {
	hint := ""
	if v.Kind == syntax.TextNode && len(v.Row.Enum) > 0 {
		hint = wording.DidYouMean(v.Text.Value, v.Row.Enum)
	}
	if v.Row.Filled && v.Kind == syntax.TextNode && v.Text.Value == "" {
		d.About(v, "is empty; expected %s", v.Row.Accepts())
		return
	}
	if empty := v.Row.empty(); v.Kind == syntax.NullNode && empty != "" {
		if v.Name != "" {
			empty = wording.Label(v.Name) + ": " + empty
		}
		d.About(v, "is null; expected %s: write %s for an empty one", v.Row.Accepts(), empty)
		return
	}
	d.About(v, "is %s%s; expected %s", v.Shown(), hint, v.Row.Accepts())
}

// Fill decodes the entries of a map by the table of its fields.
func Fill[T any](d *Decoder, n *syntax.Node, key string, fields []Field[T], into *T) {
	misspelt := map[string]bool{} // the keys that unknown ones seem to mean
	for _, e := range n.Entries {
		if d.Full() {
			return
		}
		name := e.Key.Text.Value
		at := Under(key, name)
		i := slices.IndexFunc(fields, func(f Field[T]) bool { return f.Takes(name) })
		if i < 0 {
			hint, meant := d.Hint(at, name, Keys(fields))
			takes := func(r Row) bool { return r.Takes(name) }
			if parent := slices.IndexFunc(fields, func(f Field[T]) bool { return slices.ContainsFunc(f.Table, takes) }); hint == "" && parent >= 0 {
				hint = fmt.Sprintf(" (did you mean %q inside %s?)", name, fields[parent].Key) // it is one map too high
			} else if hint == "" {
				if meant = meantKey(name, Rows(fields)); meant != "" {
					hint = fmt.Sprintf(" (did you mean %q?)", meant)
				}
			}
			misspelt[meant] = true
			d.About(Value{Node: e.Key, Key: at}, "unknown key%s; expected one of %s", hint, KeysNear(at, name, Keys(fields)))
			continue
		}
		v := Value{Node: e.Value, Key: at, Name: name, Row: fields[i].Row}
		if d.Take(v) {
			fields[i].Set(d, v, into)
		}
	}
	for _, f := range fields {
		if f.Required || f.Unless != "" {
			d.require(n, key, f.Row, misspelt)
		}
	}
}

// KeysNear returns the keys of a table for the message about an unknown key, whose key path is at: all, or of many
// the similar ones, or the first if there are none, with the page that describes the rest.
func KeysNear(at, name string, keys []string) string {
	const most, shown = 8, 5
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	near := wording.Near(name, keys)
	if len(near) == 0 {
		near = keys
	}
	near = near[:min(len(near), shown)]
	return fmt.Sprintf("%s, … %d more: docs/%s", strings.Join(near, ", "), len(keys)-len(near), pageOf(at))
}

// pageOf returns the page of the documentation that describes the map that contains a key path.
func pageOf(at string) string {
	segments := strings.Split(at, ".")
	for _, segment := range slices.Backward(segments[:len(segments)-1]) {
		segment, _, _ = strings.Cut(segment, "[")
		switch segment {
		case "latency", "fault":
			return "latency-and-limits.md"
		case "webhook", "webhooks":
			return "webhooks.md"
		case "external-body":
			return "external-bodies.md"
		case "pace":
			return "stream-times.md"
		case "stream":
			return "streams.md"
		case "data", "resource", "steps":
			return "state.md"
		case "websocket":
			return "websocket.md"
		}
	}
	return "configuration.md"
}

// require reports required keys that are missing from a map, and keys that are given together with
// their alternative. Misspelt keys have been reported already.
func (d *Decoder) require(n *syntax.Node, key string, r Row, misspelt map[string]bool) {
	given, instead := n.Get(r.Key) != nil, r.Unless != "" && n.Get(r.Unless) != nil
	other := Under(key, r.Unless)
	switch {
	case given && instead && (r.Required || !d.Reported[other]):
		d.Wrong(n.Get(r.Unless).Pos(), other, "%s", BothGiven(r.Key, r.Unless))
	case given || instead || !r.Required:
	case misspelt[r.Key] || r.Unless != "" && misspelt[r.Unless]:
		d.Known(Under(key, r.Key))
	default:
		or := ""
		if r.Unless != "" {
			or = "; or " + r.Unless
		}
		d.Wrong(n.Pos(), key, "%s is missing: %s%s", r.Key, r.Doc, or)
		d.Known(Under(key, r.Key))
	}
}

// BothGiven returns the error for two keys that cannot be given together.
func BothGiven(one, other string) string {
	return fmt.Sprintf("%s and %s are both given; expected one of them", one, other)
}

// meantKey returns the key that an unknown one seems to mean; "" for none.
func meantKey(name string, rows []Row) string {
	var names []string
	for _, r := range rows {
		if r.Many == nil {
			names = append(names, r.Key)
		} else if near := r.Many.Near(name); near != "" {
			return near
		}
	}
	return wording.Nearest(name, names)
}

// Rows returns the rows of a table, for the row of the key that contains the map.
func Rows[T any](fields []Field[T]) []Row {
	return list.Map(fields, func(f Field[T]) Row { return f.Row })
}

// Keys returns the keys of a table.
func Keys[T any](fields []Field[T]) []string {
	return list.Map(fields, func(f Field[T]) string { return f.Key })
}
