package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A JSON value is nil, a bool, a json.Number, a string, a []any or an *object. Numbers
// are the text they are written as, so that no digit is lost.

// null is a null that a document has written. The library keeps nil for a value that is
// not there; see anyOf.
type null struct{}

// MarshalJSON writes null.
func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// object is a JSON object that knows the order of its names.
type object struct {
	members []member
	index   map[string]int // of many members; nil for few
}

type member struct {
	name  string
	value any
}

// fewMembers are found by looking at each.
const fewMembers = 12

// get returns the value of a name.
func (o *object) get(name string) (any, bool) {
	if i := o.find(name); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

func (o *object) find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

// set adds a member, or replaces its value.
func (o *object) set(name string, v any) {
	if i := o.find(name); i >= 0 {
		o.members[i].value = v
		return
	}
	o.members = append(o.members, member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.members) - 1
	case len(o.members) > fewMembers:
		o.index = make(map[string]int, 2*len(o.members))
		for i := range o.members {
			o.index[o.members[i].name] = i
		}
	}
}

// parseJSON reads one JSON value, in its order and with its digits.
func parseJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := parseNext(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func parseNext(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		items := []any{}
		for d.More() {
			item, err := parseNext(d)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := d.Token()
		return items, err
	case json.Delim('{'):
		o := &object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseNext(d)
			if err != nil {
				return nil, err
			}
			o.set(name.(string), v)
		}
		_, err := d.Token()
		return o, err
	}
	return token, nil
}

// valueOf converts what a document keeps where any value may stand, or what the library
// has decoded: there a map has lost its order, and its names are sorted.
func valueOf(v any) any {
	switch v := v.(type) {
	case null:
		return nil
	case nil, bool, string, json.Number, *object:
		return v
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = valueOf(v[i])
		}
		return items
	case map[string]any:
		o := &object{}
		for _, name := range sortedNames(v) {
			o.set(name, valueOf(v[name]))
		}
		return o
	case float64:
		return floatNumber(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return nil
	}
	return parsed
}

func sortedNames[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// floatNumber is the shortest text of a number, without an exponent where that is
// readable. There is no text for an infinite one, which no document can write.
func floatNumber(f float64) json.Number {
	text, err := json.Marshal(f)
	if err != nil {
		return "0"
	}
	return json.Number(text)
}

func intNumber(i int64) json.Number { return json.Number(strconv.FormatInt(i, 10)) }

// appendJSON appends the JSON text of a value.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendJSONString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, v[i])
		}
		return append(dst, ']')
	case *object:
		dst = append(dst, '{')
		for i := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONString(dst, v.members[i].name), ':')
			dst = appendJSON(dst, v.members[i].value)
		}
		return append(dst, '}')
	}
	return appendJSON(dst, valueOf(v))
}

func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		b := s[i]
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b == '\n':
			dst = append(dst, `\n`...)
		case b == '\t':
			dst = append(dst, `\t`...)
		case b == '\r':
			dst = append(dst, `\r`...)
		case b < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		case b < utf8.RuneSelf:
			dst = append(dst, b)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r) // U+FFFD for what is not UTF-8
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// equal tells whether two values are the same, as JSON Schema sees it: 1 is 1.0, and
// the order of names says nothing.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || equalNumbers(a, b))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case *object:
		b, ok := b.(*object)
		if !ok || len(a.members) != len(b.members) {
			return false
		}
		for i := range a.members {
			v, ok := b.get(a.members[i].name)
			if !ok || !equal(a.members[i].value, v) {
				return false
			}
		}
		return true
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	}
	return false
}

func equalNumbers(a, b json.Number) bool {
	x, y := rational(a), rational(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

// longestNumber bounds the arithmetic that one number of a document can ask for.
const longestNumber = 400

// rational is the exact value of a number; nil for one that is beyond all use.
func rational(n json.Number) *big.Rat {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return new(big.Rat).SetInt64(i)
	}
	if len(n) > longestNumber {
		return nil
	}
	if i := bytes.IndexAny([]byte(n), "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(n[i+1:])); err != nil || e > longestNumber || e < -longestNumber {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// exactly is the number that a document has written, as far as a float64 keeps it: 0.1
// is one tenth.
func exactly(f float64) *big.Rat {
	if i := int64(f); float64(i) == f && i > -1<<53 && i < 1<<53 {
		return new(big.Rat).SetInt64(i)
	}
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return new(big.Rat) // not a number: JSON has none
	}
	return r
}

// numbers are the exact values of those numbers of a document that a float64, as the
// library keeps them, is not exact for: 9223372036854775800, say.
type numbers map[*float64]*big.Rat

// of is the exact value of a number of the document.
func (ns numbers) of(f *float64) *big.Rat {
	if r := ns[f]; r != nil {
		return r
	}
	return exactly(*f)
}

// note keeps the exact value of a number of the document, where its float64 is another.
func (ns numbers) note(f *float64, text string) {
	if r := rational(json.Number(text)); r != nil && r.Cmp(exactly(*f)) != 0 {
		ns[f] = r
	}
}

// jsonKind is the type that JSON Schema gives a value. Whole numbers are "integer".
func jsonKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case *object:
		return "object"
	case json.Number:
		if isWhole(v) {
			return "integer"
		}
	}
	return "number"
}

func isWhole(n json.Number) bool {
	if _, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return true
	}
	r := rational(n)
	return r != nil && r.IsInt()
}

// decimalText writes a number whose denominator divides a power of ten.
func decimalText(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	places, exact := r.FloatPrec()
	if !exact {
		places = 17
	}
	return json.Number(r.FloatString(places))
}
