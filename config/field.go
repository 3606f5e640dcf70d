package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/flags"
	"mockserver/internal/wording"
)

// kinds is a set of node kinds.
type kinds uint8

const (
	nulls   kinds = 1 << syntax.NullNode
	bools   kinds = 1 << syntax.BoolNode
	numbers kinds = 1 << syntax.NumberNode
	texts   kinds = 1 << syntax.TextNode
	lists   kinds = 1 << syntax.ListNode
	maps    kinds = 1 << syntax.MapNode

	scalars  = bools | numbers | texts
	bodies   = scalars | lists | maps
	anything = nulls | bodies
)

func (k kinds) has(kind syntax.Kind) bool { return k&(1<<kind) != 0 }

// String lists the kinds: "a text, a list or a map". That a value may be left
// empty is not worth a word.
func (k kinds) String() string {
	var names []string
	for _, kind := range []syntax.Kind{syntax.TextNode, syntax.NumberNode, syntax.BoolNode, syntax.ListNode, syntax.MapNode} {
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

// row describes one key of a map of the language, or one value without a key: all
// that a message or the schema of the language says about it.
type row struct {
	key      string
	doc      string // what it means, as a clause
	of       string // the key of the Go field, where it is another
	required bool
	unless   string // the key that may be given instead of a required one; "" for none. Both are a mistake
	many     *many  // of a row that stands for many keys; key is how they are called
	kinds    kinds
	enum     []string      // the texts accepted, when only some are
	anyCase  bool          // the texts of enum are accepted in small letters and capitals
	min, max int           // bounds of an integer; both 0 for none
	upTo     int           // the most that a number from 0 may be, fractions among them; 0 for no such number
	length   length        // what a duration may be
	most     time.Duration // the longest it may be; 0 for any
	atOnce   bool          // a duration of 0 is AtOnce
	filled   bool          // an empty text is not accepted
	pattern  string        // a regular expression that holds of every text accepted
	form     string        // what a text looks like, where its kind does not tell

	table []row // of a map: its keys; nil when any may stand in it
	name  *row  // of a map without a table: what its keys are
	value *row  // of a map without a table: what its values are; nil for anything
	item  *row  // of a list: what its items are; nil for anything
}

// length is what a duration may be. The zero value is for what is no duration.
type length uint8

const (
	fromZero length = iota + 1 // 0 or more
	aboveZero
	// Those of traffic are often milliseconds, and a number alone would be seconds: so
	// their unit is written, or in their key. 0 needs none.
	unitFromZero
	unitAboveZero
	millisFromZero // a number of milliseconds
	millisAboveZero
)

func (l length) above() bool { return l == aboveZero || l == unitAboveZero || l == millisAboveZero }

func (l length) millis() bool { return l == millisFromZero || l == millisAboveZero }

func (l length) unit() bool { return l == unitFromZero || l == unitAboveZero }

// many is what the keys are that one row stands for.
type many struct {
	pattern string                   // a regular expression that holds of the keys accepted
	takes   func(name string) bool   // whether a key is one of them, be it accepted or not
	near    func(name string) string // the one that another key seems to mean; "" for none
}

// takes tells whether a key is the row's.
func (r row) takes(name string) bool {
	if r.many != nil {
		return r.many.takes(name)
	}
	return r.key == name
}

// accepts says what a value may be: "an integer from 200 to 599".
func (r row) accepts() string {
	switch {
	case r.form != "":
		return r.form
	case r.length != 0:
		return r.length.accepts(r.most)
	case r.upTo > 0 && r.kinds.has(syntax.TextNode):
		return fmt.Sprintf("a number from 0 to %d, or a percentage such as 1%%,", r.upTo)
	case r.upTo > 0:
		return fmt.Sprintf("a number from 0 to %d", r.upTo)
	case r.max > 0:
		return fmt.Sprintf("an integer from %d to %d", r.min, r.max)
	case len(r.enum) > 0:
		return wording.OneOf(r.enum)
	}
	return r.kinds.String()
}

// empty is how a map, a list or a body is written that may be empty; "" for any other. Where
// there is a form, it says what has to be inside.
func (r row) empty() string {
	switch {
	case r.form != "" || slices.ContainsFunc(r.table, func(key row) bool { return key.required }):
		return ""
	case r.kinds == maps:
		return "{}"
	case r.kinds == lists:
		return "[]"
	case r.kinds == bodies:
		return `""`
	}
	return ""
}

// accepts says what a duration may be.
func (l length) accepts(most time.Duration) string {
	limit := ""
	if most > 0 {
		limit = fmt.Sprintf(" of at most %v", most.Hours()) + "h"
	}
	switch l {
	case aboveZero:
		return "a duration above 0, such as 2s or 250ms, or a number of seconds,"
	case unitFromZero:
		return "a duration with its unit, such as 20ms or 1.5s," + limit
	case unitAboveZero:
		return "a duration above 0 with its unit, such as 20ms or 1.5s," + limit
	case millisFromZero:
		return "a number of milliseconds" + limit
	case millisAboveZero:
		return "a number of milliseconds above 0" + limit
	}
	return "a duration, such as 30s, or a number of seconds,"
}

// field is one key of a map that is decoded into a T.
type field[T any] struct {
	row
	set func(d *decoder, v value, into *T)
}

// value is a node where it stands: nodes that aliases share stand at several
// places, so a node does not know its key path.
type value struct {
	*syntax.Node
	key  string
	name string // of the key in a map with a table, as it is written
	row  row
}

// asText returns the text of a scalar at its place.
func (v value) asText() syntax.Text {
	t := v.Text
	t.Key = v.key
	return t
}

// decoder collects the mistakes of one file.
type decoder struct {
	syntax.Collector
	// reported are the key paths found wrong in the current endpoint: what is built
	// without them is not to be complained of again.
	reported map[string]bool
}

func (d *decoder) wrong(pos syntax.Pos, key, format string, args ...any) {
	d.known(key)
	if !d.Full() {
		d.Add(syntax.Problem{Pos: pos, Key: key, What: fmt.Sprintf(format, args...)})
	}
}

// known notes that what stands at a key path is wrong, and that it is said.
func (d *decoder) known(key string) {
	if d.Full() && d.reported != nil {
		return // nothing more is said
	}
	if d.reported == nil {
		d.reported = map[string]bool{}
	}
	d.reported[key] = true
}

// under is the key path of a key of a map.
func under(key, name string) string { return key + "." + wording.Label(name) }

// about is wrong for a value, unless its reader has refused it: what stands for it
// is not what was written.
func (d *decoder) about(v value, format string, args ...any) {
	if v.Faulty {
		d.known(v.key)
		return
	}
	d.wrong(v.Pos(), v.key, format, args...)
}

// part is a value inside another that is a list, or a map without a table.
func (v value) part(n *syntax.Node, key string, r *row) value {
	return value{Node: n, key: v.key + key, row: *r}
}

// parts are the items of a list.
func (v value) parts() []value {
	all := make([]value, len(v.Items))
	for i, n := range v.Items {
		all[i] = v.part(n, "["+strconv.Itoa(i)+"]", v.row.item)
	}
	return all
}

// take tells whether a value is of a kind that its row accepts, and refuses it
// otherwise.
func (d *decoder) take(v value) bool {
	if v.Faulty {
		d.known(v.key)
	}
	if !v.row.kinds.has(v.Kind) {
		d.refuse(v)
		return false
	}
	return true
}

// refuse says that a value is none of those that its key accepts.
func (d *decoder) refuse(v value) {
	hint := ""
	if v.Kind == syntax.TextNode && len(v.row.enum) > 0 {
		hint = wording.DidYouMean(v.Text.Value, v.row.enum)
	}
	if empty := v.row.empty(); v.Kind == syntax.NullNode && empty != "" {
		if v.name != "" {
			empty = wording.Label(v.name) + ": " + empty
		}
		d.about(v, "is null; expected %s: write %s for an empty one", v.row.accepts(), empty)
		return
	}
	d.about(v, "is %s%s; %s is accepted", v.Shown(), hint, v.row.accepts())
}

// fill decodes the entries of a map by the table of its fields.
func fill[T any](d *decoder, n *syntax.Node, key string, fields []field[T], into *T) {
	misspelt := map[string]bool{} // the keys that unknown ones seem to mean
	for _, e := range n.Entries {
		if d.Full() {
			return
		}
		name := e.Key.Text.Value
		at := under(key, name)
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.takes(name) })
		if i < 0 {
			hint, meant := foreignHint(name, keysOf(fields))
			if hint == "" {
				meant = meantKey(name, rowsOf(fields))
			}
			if hint == "" && meant != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", meant)
			}
			misspelt[meant] = true
			d.about(value{Node: e.Key, key: at}, "unknown key%s; accepted are %s", hint, strings.Join(keysOf(fields), ", "))
			continue
		}
		v := value{Node: e.Value, key: at, name: name, row: fields[i].row}
		if d.take(v) {
			fields[i].set(d, v, into)
		}
	}
	for _, f := range fields {
		if f.required {
			d.require(n, key, f.row, misspelt)
		}
	}
}

// require says that a required key of a map is missing, or given twice over. Of
// those that are only misspelt it was said.
func (d *decoder) require(n *syntax.Node, key string, r row, misspelt map[string]bool) {
	given, instead := n.Get(r.key) != nil, r.unless != "" && n.Get(r.unless) != nil
	switch {
	case given && instead:
		other := under(key, r.unless)
		d.wrong(n.Get(r.unless).Pos(), other, "%s", bothGiven(r.key, r.unless))
	case given || instead:
	case misspelt[r.key] || r.unless != "" && misspelt[r.unless]:
		d.known(under(key, r.key))
	default:
		or := ""
		if r.unless != "" {
			or = "; or " + r.unless
		}
		d.wrong(n.Pos(), key, "%s is missing: %s%s", r.key, r.doc, or)
		d.known(under(key, r.key))
	}
}

// bothGiven is what is wrong with two keys of which one is accepted.
func bothGiven(one, other string) string {
	return fmt.Sprintf("%s and %s are both given; one of them is accepted", one, other)
}

// meantKey is the key that an unknown one seems to mean; "" for none.
func meantKey(name string, rows []row) string {
	var names []string
	for _, r := range rows {
		if r.many == nil {
			names = append(names, r.key)
		} else if near := r.many.near(name); near != "" {
			return near
		}
	}
	return wording.Nearest(name, names)
}

// rowsOf returns the rows of a table, for the row of the key that the map stands at.
func rowsOf[T any](fields []field[T]) []row {
	rows := make([]row, len(fields))
	for i, f := range fields {
		rows[i] = f.row
	}
	return rows
}

func keysOf[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return names
}

// fieldOf is a key whose value is that of a Go field, as the walk of declarations names it.
func fieldOf[T any](r row) field[T] {
	path := locate(reflect.TypeFor[T](), cmp.Or(r.of, r.key))
	if path == nil {
		panic("config: no Go field for the key " + r.key) // when the program starts
	}
	return field[T]{r, func(d *decoder, v value, into *T) {
		if !d.store(v, reflect.ValueOf(into).Elem().FieldByIndex(path).Addr().Interface()) {
			d.refuse(v)
		}
	}}
}

// store puts a value into a Go field, if its row accepts it.
func (d *decoder) store(v value, into any) (ok bool) {
	switch into := into.(type) {
	case *syntax.Text:
		if v.Kind != syntax.NullNode {
			*into = v.asText()
		}
		return true
	case *string:
		text := v.Text.Value
		if v.row.anyCase {
			text = changeCase(text, 'a', 'z')
		}
		return set(into, text, len(v.row.enum) == 0 || slices.Contains(v.row.enum, text))
	case *bool:
		return set(into, v.Truth(), true)
	case *int:
		n, err := strconv.Atoi(v.Number)
		return set(into, n, err == nil && n >= v.row.min && n <= v.row.max)
	case *float64:
		f, ok := v.float()
		return set(into, f, ok)
	case *time.Duration:
		t, ok := v.duration()
		if v.row.atOnce && t == 0 {
			t = AtOnce
		}
		return set(into, t, ok)
	}
	return false
}

// set sets a field to a value that is accepted, and reports whether it is.
func set[T any](into *T, value T, accepted bool) bool {
	if accepted {
		*into = value
	}
	return accepted
}

// float is a number from 0 to the most of its row, of which a text is a percentage.
func (v value) float() (f float64, ok bool) {
	text, part := v.Number, 1.0
	if v.Kind == syntax.TextNode {
		text, part = percentage(v.Text.Value), 100
	}
	f, err := strconv.ParseFloat(text, 64)
	f /= part
	return f, err == nil && !strings.HasPrefix(text, "-") && f <= float64(v.row.upTo)
}

// duration is a text, or a number of seconds or milliseconds. One with a minus in
// front is below 0, even where it rounds to 0.
func (v value) duration() (t time.Duration, ok bool) {
	r := v.row
	var err error
	switch {
	case v.Kind == syntax.TextNode:
		t, err = time.ParseDuration(v.Text.Value)
	case r.length.millis():
		t, err = flags.Times(v.Number, time.Millisecond)
	default:
		t, err = flags.Times(v.Number, time.Second)
	}
	if err != nil || strings.HasPrefix(v.Text.Value, "-") || r.length.above() && t == 0 || r.most > 0 && t > r.most {
		return 0, false
	}
	if r.length.unit() && v.Kind == syntax.NumberNode { // 0 alone needs no unit
		f, err := strconv.ParseFloat(v.Number, 64)
		return t, err == nil && f == 0
	}
	return t, true
}
