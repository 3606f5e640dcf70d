package renderer

import (
	"bytes"
	"strconv"
	"time"

	"mockserver/matcher"
	"mockserver/matcher/json"
	"mockserver/renderer/scalar"
)

// kind is the kind of an expression's value: a kind of JSON value, or one of two more.
type kind = json.Kind

const (
	missing = json.Missing
	null    = json.Null
	boolean = json.Bool
	number  = json.Number
	text    = json.String
	array   = json.Array
	object  = json.Object
	encoded = json.Object + 1 // JSON text made by the json filter from a text
	instant = json.Object + 2
)

// value is the value of an expression. It points into the request or its arena and is valid until
// the request is released.
type value struct {
	kind kind
	ns   int32  // instant: nanoseconds within its second
	raw  []byte // the bytes of a text; the JSON text of any other kind except instant
	at   int64  // instant: seconds since 1970
}

// isoMillis is the format of an instant: ISO 8601, UTC, with milliseconds.
const isoMillis = "2006-01-02T15:04:05.000Z"

var (
	trueText  = []byte("true")
	falseText = []byte("false")
	nullText  = []byte("null")
)

func textValue(b []byte) value { return value{kind: text, raw: b} }

func timeValue(t time.Time) value {
	return value{kind: instant, at: t.Unix(), ns: int32(t.Nanosecond())}
}

// time returns the time of an instant in UTC.
func (v value) time() time.Time { return time.Unix(v.at, int64(v.ns)).UTC() }

func boolValue(b bool) value {
	if b {
		return value{kind: boolean, raw: trueText}
	}
	return value{kind: boolean, raw: falseText}
}

func intValue(n int64, r *matcher.Request) value {
	start := len(r.Arena)
	r.Arena = strconv.AppendInt(r.Arena, n, 10)
	return value{kind: number, raw: since(r, start)}
}

// since returns what was appended to the arena after start, with no capacity for more.
func since(r *matcher.Request, start int) []byte {
	return r.Arena[start:len(r.Arena):len(r.Arena)]
}

// fromJSON converts a value of the request's JSON body.
func fromJSON(v json.Value, r *matcher.Request) value {
	switch {
	case v.Kind != json.String:
		return value{kind: v.Kind, raw: v.Raw}
	case bytes.IndexByte(v.Raw, '\\') < 0:
		return textValue(v.Raw[1 : len(v.Raw)-1])
	}
	start := len(r.Arena)
	r.Arena = v.AppendText(r.Arena)
	return textValue(since(r, start))
}

// json returns an array or an object as the request's JSON view has it; Missing for other values.
func (v value) json() json.Value {
	if v.kind != array && v.kind != object {
		return json.Value{}
	}
	return json.Value{Kind: v.kind, Raw: v.raw}
}

// appendText appends the value as plain text: nothing for a missing one.
func (v value) appendText(dst []byte) []byte {
	if v.kind == instant {
		return v.time().AppendFormat(dst, isoMillis)
	}
	return append(dst, v.raw...)
}

// text returns the value as plain text.
func (v value) text(r *matcher.Request) []byte {
	if v.kind != instant {
		return v.raw
	}
	start := len(r.Arena)
	r.Arena = v.appendText(r.Arena)
	return since(r, start)
}

// empty reports whether the value is missing, null or an empty text.
func (v value) empty() bool {
	return v.kind == missing || v.kind == null || v.kind == text && len(v.raw) == 0
}

// numeric reports whether the value is a number, or a text that is a number.
func (v value) numeric() bool {
	return v.kind == number || v.kind == text && scalar.IsNumeric(v.raw)
}

// truth returns the result of a lone operand: it is true if present and not empty, false or 0.
func (v value) truth() bool {
	switch v.kind {
	case missing, null:
		return false
	case array, object:
		return v.json().Len() > 0
	case instant:
		return true
	}
	if len(v.raw) == 0 || bytes.Equal(v.raw, falseText) {
		return false
	}
	return !v.numeric() || !scalar.IsZero(v.raw)
}

// equal compares two values: as numbers if both are numbers, otherwise as text. A missing value
// equals only null and the empty text; null equals only null and missing.
func equal(a, b value, r *matcher.Request) bool {
	if a.kind == missing {
		a, b = b, a
	}
	switch {
	case b.kind == missing:
		return a.kind == null || a.kind == text && len(a.raw) == 0
	case a.kind == null || b.kind == null:
		return a.kind == b.kind
	case a.numeric() && b.numeric():
		return scalar.Compare(a.raw, b.raw) == 0
	}
	return bytes.Equal(a.text(r), b.text(r))
}

// order compares two values. ok is false if they have no order.
func order(a, b value, r *matcher.Request) (sign int, ok bool) {
	if a.kind == missing || b.kind == missing || a.kind == null || b.kind == null {
		return 0, false
	}
	if a.numeric() && b.numeric() {
		return scalar.Compare(a.raw, b.raw), true
	}
	return bytes.Compare(a.text(r), b.text(r)), true
}

// contains reports whether an array has an element, an object a key, or a text a part that equals
// b.
func contains(a, b value, r *matcher.Request) bool {
	if b.kind == missing {
		return false
	}
	switch a.kind {
	case missing, null:
		return false
	case array:
		return hasElement(a, b, r)
	case object:
		return a.json().Member(string(b.text(r))).Kind != json.Missing
	}
	return bytes.Contains(a.text(r), b.text(r))
}

func hasElement(list, b value, r *matcher.Request) bool {
	elements := list.json().Elements()
	mark := len(r.Arena)
	numeric, wanted := b.numeric(), scalar.Decimal{}
	if numeric { // converted once: it may be long, and so may the list
		wanted = scalar.Canonical(b.raw)
	}
	for {
		element, ok := elements.Next()
		if !ok {
			return false
		}
		v, found := fromJSON(element, r), false
		if !numeric {
			found = equal(v, b, r)
		} else if v.numeric() {
			d := scalar.Canonical(v.raw)
			found = d.Same(&wanted)
		}
		r.Arena = r.Arena[:mark]
		if found {
			return true
		}
	}
}
