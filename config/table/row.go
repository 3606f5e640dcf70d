// Package table decodes maps of a configuration by tables of their keys. A table has a row
// for each key; decoding, messages and the JSON Schema all follow from it.
package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// Kinds is a set of node kinds.
type Kinds uint8

// The kinds, and sets of them.
const (
	Nulls   Kinds = 1 << syntax.NullNode
	Bools   Kinds = 1 << syntax.BoolNode
	Numbers Kinds = 1 << syntax.NumberNode
	Texts   Kinds = 1 << syntax.TextNode
	Lists   Kinds = 1 << syntax.ListNode
	Maps    Kinds = 1 << syntax.MapNode

	Scalars  = Bools | Numbers | Texts
	Bodies   = Scalars | Lists | Maps
	Anything = Nulls | Bodies
)

// Has reports whether a kind is in the set.
func (k Kinds) Has(kind syntax.Kind) bool { return k&(1<<kind) != 0 }

// String lists the kinds: "a text, a list or a map". It does not mention null.
func (k Kinds) String() string {
	var names []string
	for _, kind := range []syntax.Kind{syntax.TextNode, syntax.NumberNode, syntax.BoolNode, syntax.ListNode, syntax.MapNode} {
		if k.Has(kind) {
			names = append(names, kind.String())
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Row describes one key of a map in a configuration, or one value without a key: everything that
// messages and the schema need to know about it.
type Row struct {
	Key      string
	Doc      string // its meaning, as a clause
	Of       string // the key of the Go field, if it differs
	Given    string // the key of a Go field of type bool that becomes true if the key is given
	Passed   bool   // of a response: it applies to the answer of an upstream as well
	Required bool
	Unless   string // the key that may be given instead; "" for none. Giving both is an error
	Many     *Many  // for a row that stands for many keys; Key is their name in messages
	Kinds    Kinds
	Enum     []string      // the accepted texts, if only some are
	AnyCase  bool          // the texts of Enum are accepted in any case
	Min, Max int           // limits of an integer; both 0 for none
	UpTo     int           // the maximum of a number from 0, with fractions; 0 if it is not such a number
	Length   Length        // the kind of duration
	Most     time.Duration // the longest duration; 0 for any
	AtOnce   bool          // a duration of 0 becomes AtOnce
	Filled   bool          // an empty text is an error
	Pattern  string        // a regular expression that matches every accepted text
	Form     string        // the form of a text, if its kind does not determine it
	// Is reports whether a text is accepted; nil for any. Pattern and Form describe these texts.
	Is func(text string) bool

	Table []Row  // of a map: its keys; nil if any are allowed
	Again string // of a map: the key of a map around it, which has the same table
	Name  *Row   // of a map without a table: its keys
	Value *Row   // of a map without a table: its values; nil for anything
	Item  *Row   // of a list: its items; nil for anything
}

// AtOnce is the duration that means no delay, where 0 stands for a default.
const AtOnce = time.Duration(-1)

// Length is the kind of a duration. The zero value is for values that are not durations.
type Length struct {
	form   string // what is accepted; "of at most" and the limit follow if there is one
	above  bool   // 0 is not accepted
	unit   bool   // a number needs a unit, unless it is 0
	millis bool   // a number of milliseconds
}

// The kinds of durations. Those that shape traffic are often milliseconds, and a number alone would
// mean seconds. So they need a unit, in the value or in the key, unless they are 0.
var (
	FromZero        = Length{form: "a duration, such as 30s, or a number of seconds"}
	AboveZero       = Length{form: "a duration above 0, such as 2s or 250ms, or a number of seconds", above: true}
	UnitFromZero    = Length{form: "a duration with a unit, such as 20ms or 1.5s,", unit: true}
	UnitAboveZero   = Length{form: "a duration above 0 with a unit, such as 20ms or 1.5s,", unit: true, above: true}
	MillisFromZero  = Length{form: "a number of milliseconds", millis: true}
	MillisAboveZero = Length{form: "a number of milliseconds above 0", millis: true, above: true}
)

// Many describes the keys that one row stands for.
type Many struct {
	Pattern string                   // a regular expression that matches the accepted keys
	Takes   func(name string) bool   // whether a key is meant to be one of them, valid or not
	Near    func(name string) string // the key that another key seems to mean; "" for none
}

// Takes reports whether the row is for a key.
func (r Row) Takes(name string) bool {
	if r.Many != nil {
		return r.Many.Takes(name)
	}
	return r.Key == name
}

// Accepts describes the accepted values: "an integer from 200 to 599".
func (r Row) Accepts() string {
	switch {
	case r.Form != "":
		return r.Form
	case r.Length.form != "" && r.Most > 0:
		return fmt.Sprintf("%s of at most %vh", r.Length.form, r.Most.Hours())
	case r.Length.form != "":
		return r.Length.form
	case r.UpTo > 0 && r.Kinds.Has(syntax.TextNode):
		return fmt.Sprintf("a number from 0 to %d, or a percentage such as 1%%", r.UpTo)
	case r.UpTo > 0:
		return fmt.Sprintf("a number from 0 to %d", r.UpTo)
	case r.Max > 0:
		return fmt.Sprintf("an integer from %d to %d", r.Min, r.Max)
	case len(r.Enum) > 0:
		return wording.OneOf(r.Enum)
	}
	return r.Kinds.String()
}

// empty returns how an empty map, list or body is written, or "" if it is not accepted. It also
// returns "" for a row with a form, because the form says what must be inside.
func (r Row) empty() string {
	switch {
	case r.Form != "" || slices.ContainsFunc(r.Table, func(key Row) bool { return key.Required }):
		return ""
	case r.Kinds == Maps:
		return "{}"
	case r.Kinds == Lists:
		return "[]"
	case r.Kinds == Bodies:
		return `""`
	}
	return ""
}
