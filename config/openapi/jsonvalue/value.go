// Package jsonvalue provides JSON values that keep the order of names and all digits. It also
// handles JSON pointers and media types.
package jsonvalue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// A JSON value is nil, a bool, a json.Number, a string, a []any or an *Object. Numbers keep the
// text they were written with, so no digit is lost.

// Null is an explicit null in a document. In the library, nil means that a value is absent; see
// anyOf in package openapi.
type Null struct{}

// MarshalJSON writes null.
func (Null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Object is a JSON object that keeps the order of its names.
type Object struct {
	Members []Member
	index   map[string]int // for objects with many members; nil for few
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value any
}

// fewMembers is the largest number of members that are searched one by one.
const fewMembers = 12

// Get returns the value under a name.
func (o *Object) Get(name string) (any, bool) {
	if i := o.find(name); i >= 0 {
		return o.Members[i].Value, true
	}
	return nil, false
}

func (o *Object) find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(o.Members, func(m Member) bool { return m.Name == name })
}

// Set adds a member, or replaces its value.
func (o *Object) Set(name string, v any) {
	if i := o.find(name); i >= 0 {
		o.Members[i].Value = v
		return
	}
	o.Members = append(o.Members, Member{name, v})
	switch {
	case o.index != nil:
		o.index[name] = len(o.Members) - 1
	case len(o.Members) > fewMembers:
		o.index = make(map[string]int, 2*len(o.Members))
		for i := range o.Members {
			o.index[o.Members[i].Name] = i
		}
	}
}

// Parse parses one JSON value and keeps the order of names and all digits.
func Parse(text []byte) (any, error) {
	n, err := syntax.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return OfNode(n), nil
}

// Of converts a value at a place where a document allows any value, or a value that the library has
// decoded. Maps decoded by the library have lost their order, so their names are sorted.
func Of(v any) any {
	switch v := v.(type) {
	case Null:
		return nil
	case nil, bool, string, json.Number, *Object:
		return v
	case []any:
		return list.Map(v, Of)
	case map[string]any:
		o := &Object{}
		for _, name := range SortedNames(v) {
			o.Set(name, Of(v[name]))
		}
		return o
	case float64:
		return floatNumber(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	parsed, err := Parse(text)
	if err != nil {
		return nil
	}
	return parsed
}

// SortedNames returns the sorted names of a map.
func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// floatNumber returns the shortest text of a number, without an exponent where that is readable. An
// infinite number has no text, but no document can contain one.
func floatNumber(f float64) json.Number {
	text, err := json.Marshal(f)
	if err != nil {
		return "0"
	}
	return json.Number(text)
}

// IntNumber returns an integer as a JSON value.
func IntNumber(i int64) json.Number { return json.Number(strconv.FormatInt(i, 10)) }

// Append appends the JSON text of a value.
func Append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return syntax.AppendJSON(dst, v)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, v[i])
		}
		return append(dst, ']')
	case *Object:
		dst = append(dst, '{')
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(syntax.AppendJSON(dst, v.Members[i].Name), ':')
			dst = Append(dst, v.Members[i].Value)
		}
		return append(dst, '}')
	}
	return Append(dst, Of(v))
}

// AppendIdentity appends a string that is the same for two values if and only if they are equal:
// numbers by their numeric value, names sorted. Objects may also be maps.
func AppendIdentity(dst []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return appendNumber(dst, string(v))
	case float64:
		return AppendIdentity(dst, floatNumber(v))
	case []any:
		dst = append(dst, '[')
		for i := range v {
			dst = append(AppendIdentity(dst, v[i]), ',')
		}
		return append(dst, ']')
	case *Object:
		members := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			members[m.Name] = m.Value
		}
		return AppendIdentity(dst, members)
	case map[string]any:
		dst = append(dst, '{')
		for _, name := range SortedNames(v) {
			dst = append(syntax.AppendJSON(dst, name), ':')
			dst = append(AppendIdentity(dst, v[name]), ',')
		}
		return append(dst, '}')
	}
	return Append(dst, v)
}

// appendNumber appends the digits of a number without zeros at either end, and its exponent. The
// result is about as long as the number: an exponent stands for any number of digits.
func appendNumber(dst []byte, number string) []byte {
	rest, isNegative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(rest[i+1:]); err != nil {
			return append(dst, number...)
		}
		rest = rest[:i]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	exponent -= len(fraction)
	all := strings.TrimLeft(whole+fraction, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" {
		return append(dst, '0')
	}
	if isNegative {
		dst = append(dst, '-')
	}
	dst = append(append(dst, digits...), 'e')
	return strconv.AppendInt(dst, int64(exponent+len(all)-len(digits)), 10)
}

// longestNumber limits the work that the arithmetic with a single number in a document can cause.
const longestNumber = 400

// Rational returns the exact value of a number; nil for a number of unreasonable size.
func Rational(n json.Number) *big.Rat {
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

// exactly returns the number as written in the document, as far as a float64 preserves it: 0.1 is
// one tenth.
func exactly(f float64) *big.Rat {
	r := Rational(json.Number(strconv.FormatFloat(f, 'g', -1, 64)))
	return cmp.Or(r, new(big.Rat)) // NaN and infinity, which JSON does not have, are 0
}

// Numbers contains the exact values of the numbers in a document that the library's float64 cannot
// represent exactly, such as 9223372036854775800.
type Numbers map[*float64]*big.Rat

// Of returns the exact value of a number in the document.
func (ns Numbers) Of(f *float64) *big.Rat {
	if r := ns[f]; r != nil {
		return r
	}
	return exactly(*f)
}

// Note records the exact value of a number in the document if its float64 differs.
func (ns Numbers) Note(f *float64, text string) {
	if r := Rational(json.Number(text)); r != nil && r.Cmp(exactly(*f)) != 0 {
		ns[f] = r
	}
}

// DecimalText returns the text of a number whose denominator divides a power of ten. Any other
// number is rounded to 17 decimals.
func DecimalText(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	places, exact := r.FloatPrec()
	if !exact {
		places = 17
	}
	return json.Number(r.FloatString(places))
}

// FitsInteger reports whether a number fits into the size of an integer format. Other formats have
// no size limit.
func FitsInteger(r *big.Rat, format string) bool {
	switch format {
	case "int32":
		return r.IsInt() && r.Num().IsInt64() && int64(int32(r.Num().Int64())) == r.Num().Int64()
	case "int64":
		return r.IsInt() && r.Num().IsInt64()
	}
	return true
}
