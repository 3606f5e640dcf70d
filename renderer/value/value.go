// Package value implements the values of the template language: their kinds, how they are compared
// and written as JSON, and how filters process them. It does not depend on templates. A function
// that cannot process a value returns a missing value. Functions append their results to the arena
// of the request.
package value

import (
	"bytes"
	"strconv"
	"time"

	"mockserver/internal/json"
	"mockserver/matcher"
	"mockserver/renderer/scalar"
)

// Kind is the kind of an expression's value: a kind of JSON value, or one of two more.
type Kind = json.Kind

// The kinds of values.
const (
	Missing = json.Missing
	Null    = json.Null
	Bool    = json.Bool
	Number  = json.Number
	Text    = json.String
	Array   = json.Array
	Object  = json.Object
	Encoded = json.Object + 1 // JSON text that the json filter has made from a text
	Instant = json.Object + 2
)

// Value is the value of an expression. It points into the request or its arena and is valid until
// the request is released.
type Value struct {
	Kind Kind
	ns   int32  // instant: nanoseconds within its second
	Raw  []byte // the bytes of a text; the JSON text of any other kind except instant
	at   int64  // instant: seconds since 1970
}

// isoMillis is the format of an instant: ISO 8601, UTC, with milliseconds.
const isoMillis = "2006-01-02T15:04:05.000Z"

var (
	trueText  = []byte("true")
	falseText = []byte("false")
	nullText  = []byte("null")
)

// OfText returns a text.
func OfText(b []byte) Value { return Value{Kind: Text, Raw: b} }

// OfTime returns an instant.
func OfTime(t time.Time) Value {
	return Value{Kind: Instant, at: t.Unix(), ns: int32(t.Nanosecond())}
}

// time returns the time of an instant in UTC.
func (v Value) time() time.Time { return time.Unix(v.at, int64(v.ns)).UTC() }

// OfBool returns true or false.
func OfBool(b bool) Value {
	if b {
		return Value{Kind: Bool, Raw: trueText}
	}
	return Value{Kind: Bool, Raw: falseText}
}

// OfInt returns a number.
func OfInt(n int64, r *matcher.Request) Value {
	return Value{Kind: Number, Raw: r.Extend(strconv.AppendInt(r.Arena, n, 10))}
}

// Appended extends the arena of r to arena, and returns the bytes that were appended, as a text.
func Appended(r *matcher.Request, arena []byte) Value { return OfText(r.Extend(arena)) }

// OfJSON converts a JSON value.
func OfJSON(v json.Value, r *matcher.Request) Value {
	switch {
	case v.Kind != json.String:
		return Value{Kind: v.Kind, Raw: v.Raw}
	case bytes.IndexByte(v.Raw, '\\') < 0:
		return OfText(v.Raw[1 : len(v.Raw)-1])
	}
	return Appended(r, v.AppendText(r.Arena))
}

// JSON returns an array or an object as a view of its JSON text; Missing for other values.
func (v Value) JSON() json.Value {
	if v.Kind != Array && v.Kind != Object {
		return json.Value{}
	}
	return json.Value{Kind: v.Kind, Raw: v.Raw}
}

// AppendText appends the value as plain text: nothing for a missing one.
func (v Value) AppendText(dst []byte) []byte {
	if v.Kind == Instant {
		return v.time().AppendFormat(dst, isoMillis)
	}
	return append(dst, v.Raw...)
}

// Text returns the value as plain text.
func (v Value) Text(r *matcher.Request) []byte {
	if v.Kind != Instant {
		return v.Raw
	}
	return r.Extend(v.AppendText(r.Arena))
}

// IsEmpty reports whether the value is missing, null or an empty text.
func (v Value) IsEmpty() bool {
	return v.Kind == Missing || v.Kind == Null || v.Kind == Text && len(v.Raw) == 0
}

// IsNumeric reports whether the value is a number, or a text that is a number.
func (v Value) IsNumeric() bool {
	return v.Kind == Number || v.Kind == Text && scalar.IsNumeric(v.Raw)
}

// Truth returns the result of a lone operand: it is true if present and not empty, false or 0.
func (v Value) Truth() bool {
	switch v.Kind {
	case Missing, Null:
		return false
	case Array, Object:
		return v.JSON().Len() > 0
	case Instant:
		return true
	}
	if len(v.Raw) == 0 || bytes.Equal(v.Raw, falseText) {
		return false
	}
	return !v.IsNumeric() || !scalar.IsZero(v.Raw)
}

// Equal compares two values: as numbers if both are numbers, otherwise as text. A missing value
// equals only null and the empty text; null equals only null and missing.
func Equal(a, b Value, r *matcher.Request) bool {
	if a.Kind == Missing {
		a, b = b, a
	}
	switch {
	case b.Kind == Missing:
		return a.Kind == Null || a.Kind == Text && len(a.Raw) == 0
	case a.Kind == Null || b.Kind == Null:
		return a.Kind == b.Kind
	case a.IsNumeric() && b.IsNumeric():
		return scalar.Compare(a.Raw, b.Raw) == 0
	}
	return bytes.Equal(a.Text(r), b.Text(r))
}

// Order compares two values. ok is false if they have no order.
func Order(a, b Value, r *matcher.Request) (sign int, ok bool) {
	if a.Kind == Missing || b.Kind == Missing || a.Kind == Null || b.Kind == Null {
		return 0, false
	}
	if a.IsNumeric() && b.IsNumeric() {
		return scalar.Compare(a.Raw, b.Raw), true
	}
	return bytes.Compare(a.Text(r), b.Text(r)), true
}

// Contains reports whether an array has an element, an object a key, or a text a part that equals
// b.
func Contains(a, b Value, r *matcher.Request) bool {
	if b.Kind == Missing {
		return false
	}
	switch a.Kind {
	case Missing, Null:
		return false
	case Array:
		return hasElement(a, b, r)
	case Object:
		return a.JSON().Member(string(b.Text(r))).Kind != json.Missing
	}
	return bytes.Contains(a.Text(r), b.Text(r))
}

func hasElement(list, b Value, r *matcher.Request) bool {
	elements := list.JSON().Elements()
	mark := len(r.Arena)
	numeric, wanted := b.IsNumeric(), scalar.Decimal{}
	if numeric { // converted only once: both the number and the list may be long
		wanted = scalar.Canonical(b.Raw)
	}
	for {
		element, ok := elements.Next()
		if !ok {
			return false
		}
		v, found := OfJSON(element, r), false
		if !numeric {
			found = Equal(v, b, r)
		} else if v.IsNumeric() {
			d := scalar.Canonical(v.Raw)
			found = d.Same(&wanted)
		}
		r.Arena = r.Arena[:mark]
		if found {
			return true
		}
	}
}

// Literal returns the value of a word that is a literal.
func Literal(word string) (Value, bool) {
	switch {
	case word == "true":
		return OfBool(true), true
	case word == "false":
		return OfBool(false), true
	case word == "null":
		return Value{Kind: Null, Raw: nullText}, true
	case json.IsNumber(word):
		return Value{Kind: Number, Raw: []byte(word)}, true
	}
	return Value{}, false
}

// AppendJSON appends the value as a JSON text; null for a missing value.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.Kind {
	case Missing:
		return append(dst, nullText...)
	case Text:
		return json.AppendString(dst, v.Raw)
	case Instant:
		return append(v.AppendText(append(dst, '"')), '"')
	}
	return append(dst, v.Raw...)
}

// AppendUnquoted is like AppendJSON, except that a text that is a number, true, false or null is
// written without quotes.
func (v Value) AppendUnquoted(dst []byte) []byte {
	if v.Kind == Text && (json.IsNumber(v.Raw) || IsKeyword(v.Raw)) {
		return append(dst, v.Raw...)
	}
	return v.AppendJSON(dst)
}

// IsKeyword reports whether a text is true, false or null.
func IsKeyword(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return false
}
