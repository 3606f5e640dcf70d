package renderer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer/scalar"
	"mockserver/renderer/value"
)

// filters are all filters of the language. A filter returns a missing value for a value that it
// cannot process.
var filters = map[string]struct {
	apply func(v, arg value.Value, r *matcher.Request) value.Value
	arg   string // a description of its argument; "" if it has none
	// cost is how much longer the filter takes than reading its value and its argument; 0 for a
	// filter that does not read its argument.
	cost int
}{
	"default":   {apply: value.Default, arg: "a value"},
	"upper":     {apply: value.Upper},
	"lower":     {apply: value.Lower},
	"trim":      {apply: value.Trim},
	"text":      {apply: value.AsText},
	"length":    {apply: value.Length},
	"json":      {apply: value.EncodeJSON},
	"urlencode": {apply: value.URLEncode},
	"base64":    {apply: value.Base64},
	"add":       {apply: value.Calculate('+'), arg: "a number, or a duration", cost: arithmeticCost},
	"sub":       {apply: value.Calculate('-'), arg: "a number, or a duration", cost: arithmeticCost},
	"mul":       {apply: value.Calculate('*'), arg: "a number", cost: arithmeticCost},
	"neg":       {apply: value.Negate, cost: arithmeticCost},
	"date":      {arg: "a layout in quotes", cost: 1},
	"first":     {apply: value.First},
	"last":      {apply: value.Last},
	"join":      {apply: value.Join, arg: "a text", cost: 1},
	"words":     {apply: value.Words, cost: cutCost},
	"lines":     {apply: value.Lines, cost: cutCost},
	"split":     {apply: value.Split, arg: "a text", cost: cutCost},
	"chunks":    {apply: value.Chunks, arg: "a whole number above 0", cost: cutCost},
}

// arithmeticCost is how much longer a calculation with a text takes than reading it, and cutCost to cut it into a list.
const (
	arithmeticCost = 4
	cutCost        = 16
)

// filterNames returns the names of all filters, sorted.
func filterNames() []string { return slices.Sorted(maps.Keys(filters)) }

// filter parses a filter after its |.
func (s *scanner) filter() (filter, bool) {
	t := s.tok
	if t.kind != wordToken {
		s.fail(t.offset, "expected a filter after |, not %s%s", t.describe(), s.operatorHint(t))
		return filter{}, false
	}
	known, ok := filters[t.text]
	if !ok {
		s.fail(t.offset, "unknown filter %q%s; filters are %s",
			t.text, wording.DidYouMean(t.text, filterNames()), strings.Join(filterNames(), ", "))
		return filter{}, false
	}
	f := filter{name: t.text, cost: known.cost, apply: known.apply}
	s.next()
	switch takes, given := known.arg != "", s.tok.is(":"); {
	case takes && !given:
		s.fail(t.offset, "the filter %s needs an argument: %s:%s", t.text, t.text, known.arg)
		return f, false
	case !takes && given:
		s.fail(s.tok.offset, "the filter %s takes no argument", t.text)
		return f, false
	case !takes:
		return f, true
	}
	s.next()
	at := s.tok
	if f.arg, ok = s.argument(); !ok {
		return f, false
	}
	switch t.text {
	case "date":
		ok = s.date(&f, at)
	case "add", "sub", "mul":
		ok = s.checkNumber(&f, at)
	case "chunks":
		if n, err := strconv.Atoi(string(f.arg.literal.Raw)); f.arg.constant() && (err != nil || n < 1) {
			s.fail(at.offset, "%s is not a whole number above 0", at.describe())
			ok = false
		}
	}
	return f, ok
}

// argument parses the argument of a filter.
func (s *scanner) argument() (*expr, bool) {
	arg, ok := s.operand()
	if ok {
		s.remember(&arg)
	}
	return &arg, ok
}

// checkNumber refuses a literal that is not a number. It accepts a duration for add and sub, which
// also calculate with times.
func (s *scanner) checkNumber(f *filter, at token) bool {
	if !f.arg.constant() || f.arg.literal.IsNumeric() {
		return true
	}
	expected := "a number"
	if f.name != "mul" {
		if _, ok := scalar.ParseDuration(f.arg.literal.Raw); ok {
			return true
		}
		expected = "a number, or a duration"
	}
	s.fail(at.offset, "%s is not %s", at.describe(), expected)
	return false
}
