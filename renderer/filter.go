package renderer

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer/escape"
	"mockserver/renderer/scalar"
)

// filter is one compiled filter: apply(v, arg) with the value of its argument.
type filter struct {
	name  string
	arg   *expr // nil if it has none
	more  *expr // a second argument, during compilation
	cost  int
	apply func(v, arg value, r *matcher.Request) value
}

// filters are all filters of the language. A filter returns a missing value for a value that it
// cannot process.
var filters = map[string]struct {
	apply func(v, arg value, r *matcher.Request) value
	arg   string // a description of its argument; "" if it has none
	// cost is how much longer the filter takes than reading its value and its argument; 0 for a
	// filter that does not read its argument.
	cost int
	more bool // a second argument is allowed
	// compile checks the arguments, given with their tokens, or modifies the filter.
	compile func(s *source, f *filter, arg, more token) bool
}{
	"default":   {apply: orDefault, arg: "a value"},
	"upper":     {apply: upper},
	"lower":     {apply: lower},
	"trim":      {apply: trim},
	"length":    {apply: lengthOf},
	"json":      {apply: jsonText},
	"urlencode": {apply: urlencode},
	"base64":    {apply: encodeBase64},
	"add":       {apply: calculate('+'), arg: "a number, or a duration", cost: arithmeticCost, compile: checkTerm},
	"sub":       {apply: calculate('-'), arg: "a number, or a duration", cost: arithmeticCost, compile: checkTerm},
	"mul":       {apply: calculate('*'), arg: "a number", cost: arithmeticCost, compile: checkFactor},
	"neg":       {apply: negate, cost: arithmeticCost},
	"date":      {arg: "a layout in quotes", cost: 1, more: true, compile: compileDate},
	"first":     {apply: first},
	"last":      {apply: last},
	"join":      {apply: join, arg: "a text", cost: 1},
}

// arithmeticCost is how much longer a calculation with a text takes than reading it.
const arithmeticCost = 4

// filterNames returns the names of all filters, sorted.
func filterNames() []string { return slices.Sorted(maps.Keys(filters)) }

// filter parses a filter after its |.
func (s *scanner) filter() (filter, bool) {
	t := s.tok
	if t.kind != wordToken {
		s.fail(t.offset, "expected a filter after |, not %s%s", t.describe(), operatorHint(t))
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
	arg, ok := s.operand()
	if !ok {
		return f, false
	}
	s.remember(&arg)
	f.arg = &arg
	var second token
	if known.more && s.tok.is(":") {
		s.next()
		second = s.tok
		more, ok := s.operand()
		if !ok {
			return f, false
		}
		s.remember(&more)
		f.more = &more
	}
	return f, known.compile == nil || known.compile(s.source, &f, at, second)
}

// checkTerm refuses a literal that can be added neither to a number nor to a time.
func checkTerm(s *source, f *filter, at, _ token) bool {
	if f.arg.constant() && !f.arg.literal.numeric() {
		if _, ok := scalar.ParseDuration(f.arg.literal.raw); !ok {
			s.fail(at.offset, "%s is not a number, or a duration", at.describe())
			return false
		}
	}
	return true
}

// checkFactor refuses a literal that is not a number.
func checkFactor(s *source, f *filter, at, _ token) bool {
	if f.arg.constant() && !f.arg.literal.numeric() {
		s.fail(at.offset, "%s is not a number", at.describe())
		return false
	}
	return true
}

func orDefault(v, arg value, _ *matcher.Request) value {
	if v.empty() {
		return arg
	}
	return v
}

// mapText applies f to the value as text. The result for a missing value or null is missing.
func mapText(v value, r *matcher.Request, f func(dst, b []byte) []byte) value {
	if v.kind == missing || v.kind == null {
		return value{}
	}
	b := v.text(r)
	start := len(r.Arena)
	r.Arena = f(r.Arena, b)
	return textValue(since(r, start))
}

func upper(v, _ value, r *matcher.Request) value {
	return mapText(v, r, func(dst, b []byte) []byte { return append(dst, bytes.ToUpper(b)...) })
}

func lower(v, _ value, r *matcher.Request) value {
	return mapText(v, r, func(dst, b []byte) []byte { return append(dst, bytes.ToLower(b)...) })
}

func trim(v, _ value, _ *matcher.Request) value {
	if v.kind != text {
		return v
	}
	return textValue(bytes.TrimSpace(v.raw))
}

func urlencode(v, _ value, r *matcher.Request) value { return mapText(v, r, escape.AppendPercent) }

func encodeBase64(v, _ value, r *matcher.Request) value {
	return mapText(v, r, base64.StdEncoding.AppendEncode)
}

// lengthOf returns the number of elements, members or characters; a missing value has none.
func lengthOf(v, _ value, r *matcher.Request) value {
	switch v.kind {
	case missing, null:
		return value{}
	case array, object:
		return intValue(int64(v.json().Len()), r)
	}
	return intValue(int64(utf8.RuneCount(v.text(r))), r)
}

// calculate returns the filter v op arg for numbers, for texts that are numbers, and for a time and
// a duration.
func calculate(op byte) func(v, arg value, r *matcher.Request) value {
	return func(v, arg value, r *matcher.Request) value {
		if v.numeric() && arg.numeric() {
			start := len(r.Arena)
			sum, ok := scalar.Arithmetic(r.Arena, v.raw, op, arg.raw)
			if !ok {
				return value{}
			}
			r.Arena = sum
			return value{kind: number, raw: since(r, start)}
		}
		at, isTime := timeOf(v)
		by, isDuration := scalar.ParseDuration(arg.raw)
		if !isTime || !isDuration || op == '*' {
			return value{}
		}
		if op == '-' {
			by = -by
		}
		return timeValue(at.Add(by))
	}
}

// negate returns a number with the opposite sign and the same digits. Zero stays zero.
func negate(v, _ value, r *matcher.Request) value {
	if !v.numeric() {
		return value{}
	}
	digits := bytes.TrimPrefix(v.raw, []byte("+"))
	positive, negative := bytes.CutPrefix(digits, []byte("-"))
	for len(positive) > 1 && positive[0] == '0' && '0' <= positive[1] && positive[1] <= '9' {
		positive = positive[1:] // a text may have leading zeros, a number may not
	}
	if negative || scalar.IsZero(positive) {
		return value{kind: number, raw: positive}
	}
	start := len(r.Arena)
	r.Arena = append(append(r.Arena, '-'), positive...)
	return value{kind: number, raw: since(r, start)}
}

func first(v, _ value, r *matcher.Request) value {
	switch v.kind {
	case array:
		return fromJSON(v.json().Index(0), r)
	case text:
		_, size := utf8.DecodeRune(v.raw)
		return textValue(v.raw[:size])
	}
	return value{}
}

func last(v, _ value, r *matcher.Request) value {
	switch v.kind {
	case array:
		return fromJSON(v.json().Index(v.json().Len()-1), r)
	case text:
		_, size := utf8.DecodeLastRune(v.raw)
		return textValue(v.raw[len(v.raw)-size:])
	}
	return value{}
}

// join writes the elements of an array as text with arg between them. It does not change other
// values.
func join(v, arg value, r *matcher.Request) value {
	if v.kind != array {
		return v
	}
	separator, most := arg.text(r), most(r)
	var joined []byte
	elements := v.json().Elements()
	for i := 0; ; i++ {
		element, ok := elements.Next()
		if !ok {
			break
		}
		if i > 0 {
			joined = append(joined, separator...)
		}
		if joined = fromJSON(element, r).appendText(joined); len(joined) > most {
			r.Stopped = ErrTooLarge
			return value{}
		}
	}
	return textValue(joined)
}

// timeOf returns the time of a value in UTC: an instant, or a text in ISO 8601.
func timeOf(v value) (time.Time, bool) {
	switch v.kind {
	case instant:
		return v.time(), true
	case text:
		return matcher.ParseTime(v.raw)
	}
	return time.Time{}, false
}
