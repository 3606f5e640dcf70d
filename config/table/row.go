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

// String lists the kinds: "a text, a list or a map". That a value may be left
// empty is not worth a word.
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

// Row describes one key of a map of the language, or one value without a key: all
// that a message or the schema of the language says about it.
type Row struct {
	Key      string
	Doc      string // what it means, as a clause
	Of       string // the key of the Go field, where it is another
	Given    string // the key of a Go field of type bool that becomes true where the key is given
	Said     bool   // OpenAPI can express it; what has any other key is exported in its own words
	Required bool
	Unless   string // the key that may be given instead; "" for none. Both are an error
	Many     *Many  // of a row that stands for many keys; Key is how they are called
	Kinds    Kinds
	Enum     []string      // the texts accepted, when only some are
	AnyCase  bool          // the texts of Enum are accepted in small letters and capitals
	Min, Max int           // bounds of an integer; both 0 for none
	UpTo     int           // the most that a number from 0 may be, fractions among them; 0 for no such number
	Length   Length        // what a duration may be
	Most     time.Duration // the longest it may be; 0 for any
	AtOnce   bool          // a duration of 0 is AtOnce
	Filled   bool          // an empty text is an error
	Pattern  string        // a regular expression that holds of every text accepted
	Form     string        // what a text looks like, where its kind does not say so

	Table []Row // of a map: its keys; nil when any may stand in it
	Name  *Row  // of a map without a table: what its keys are
	Value *Row  // of a map without a table: what its values are; nil for anything
	Item  *Row  // of a list: what its items are; nil for anything
}

// AtOnce is the duration of what comes at once, where 0 stands for a default.
const AtOnce = time.Duration(-1)

// Length is what a duration may be. The zero value is for what is no duration.
type Length uint8

// What durations may be.
const (
	FromZero Length = iota + 1 // 0 or more
	AboveZero
	// Those of traffic are often milliseconds, and a number alone would be seconds: so
	// their unit is written, or in their key. 0 needs none.
	UnitFromZero
	UnitAboveZero
	MillisFromZero // a number of milliseconds
	MillisAboveZero
)

func (l Length) above() bool { return l == AboveZero || l == UnitAboveZero || l == MillisAboveZero }

func (l Length) millis() bool { return l == MillisFromZero || l == MillisAboveZero }

func (l Length) unit() bool { return l == UnitFromZero || l == UnitAboveZero }

// Many is what the keys are that one row stands for.
type Many struct {
	Pattern string                   // a regular expression that holds of the keys accepted
	Takes   func(name string) bool   // whether a key is one of them, valid or not
	Near    func(name string) string // the one that another key seems to mean; "" for none
}

// Takes reports whether a key is the row's.
func (r Row) Takes(name string) bool {
	if r.Many != nil {
		return r.Many.Takes(name)
	}
	return r.Key == name
}

// Accepts says what a value may be: "an integer from 200 to 599".
func (r Row) Accepts() string {
	switch {
	case r.Form != "":
		return r.Form
	case r.Length != 0:
		return r.Length.accepts(r.Most)
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

// empty is how a map, a list or a body is written that may be empty; "" for any other. Where
// there is a form, it says what has to be inside.
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

// accepts says what a duration may be.
func (l Length) accepts(most time.Duration) string {
	limit, comma := "", ""
	if most > 0 {
		comma, limit = ",", fmt.Sprintf(" of at most %v", most.Hours())+"h"
	}
	switch l {
	case AboveZero:
		return "a duration above 0, such as 2s or 250ms, or a number of seconds"
	case UnitFromZero:
		return "a duration with its unit, such as 20ms or 1.5s" + comma + limit
	case UnitAboveZero:
		return "a duration above 0 with its unit, such as 20ms or 1.5s" + comma + limit
	case MillisFromZero:
		return "a number of milliseconds" + limit
	case MillisAboveZero:
		return "a number of milliseconds above 0" + limit
	}
	return "a duration, such as 30s, or a number of seconds"
}
