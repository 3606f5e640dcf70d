package value

import (
	"bytes"
	"encoding/base64"
	"time"
	"unicode/utf8"

	"mockserver/matcher"
	"mockserver/renderer/escape"
	"mockserver/renderer/scalar"
)

// mapText applies f to the value as text. The result for a missing value or null is missing.
func mapText(v Value, r *matcher.Request, f func(dst, b []byte) []byte) Value {
	if v.Kind == Missing || v.Kind == Null {
		return Value{}
	}
	b := v.Text(r)
	return Appended(r, f(r.Arena, b))
}

// Upper returns the text in upper case.
func Upper(v, _ Value, r *matcher.Request) Value {
	return mapText(v, r, func(dst, b []byte) []byte { return append(dst, bytes.ToUpper(b)...) })
}

// Lower returns the text in lower case.
func Lower(v, _ Value, r *matcher.Request) Value {
	return mapText(v, r, func(dst, b []byte) []byte { return append(dst, bytes.ToLower(b)...) })
}

// AsText returns the text of a value, which is empty for a missing one.
func AsText(v, _ Value, r *matcher.Request) Value { return OfText(v.Text(r)) }

// Trim removes the white space around a text. It does not change other values.
func Trim(v, _ Value, _ *matcher.Request) Value {
	if v.Kind != Text {
		return v
	}
	return OfText(bytes.TrimSpace(v.Raw))
}

// URLEncode returns the text percent-encoded.
func URLEncode(v, _ Value, r *matcher.Request) Value { return mapText(v, r, escape.AppendPercent) }

// Base64 returns the text encoded in Base64.
func Base64(v, _ Value, r *matcher.Request) Value {
	return mapText(v, r, base64.StdEncoding.AppendEncode)
}

// Length returns the number of elements, members or characters. The result is missing for a missing
// value and for null.
func Length(v, _ Value, r *matcher.Request) Value {
	switch v.Kind {
	case Missing, Null:
		return Value{}
	case Array, Object:
		return OfInt(int64(v.JSON().Len()), r)
	}
	return OfInt(int64(utf8.RuneCount(v.Text(r))), r)
}

// Calculate returns a function that computes v op arg, where op is +, - or *, for numbers, for
// texts that are numbers, and for a time and a duration.
func Calculate(op byte) func(v, arg Value, r *matcher.Request) Value {
	return func(v, arg Value, r *matcher.Request) Value {
		if v.IsNumeric() && arg.IsNumeric() {
			sum, ok := scalar.Arithmetic(r.Arena, v.Raw, op, arg.Raw)
			if !ok {
				return Value{}
			}
			return Value{Kind: Number, Raw: r.Extend(sum)}
		}
		at, isTime := timeOf(v)
		by, isDuration := scalar.ParseDuration(arg.Raw)
		if !isTime || !isDuration || op == '*' {
			return Value{}
		}
		if op == '-' {
			by = -by
		}
		return OfTime(at.Add(by))
	}
}

// Negate returns a number with the opposite sign and the same digits. Zero stays zero.
func Negate(v, _ Value, r *matcher.Request) Value {
	if !v.IsNumeric() {
		return Value{}
	}
	digits := bytes.TrimPrefix(v.Raw, []byte("+"))
	positive, negative := bytes.CutPrefix(digits, []byte("-"))
	for len(positive) > 1 && positive[0] == '0' && '0' <= positive[1] && positive[1] <= '9' {
		positive = positive[1:] // a text may have leading zeros, a number may not
	}
	if negative || scalar.IsZero(positive) {
		return Value{Kind: Number, Raw: positive}
	}
	return Value{Kind: Number, Raw: r.Extend(append(append(r.Arena, '-'), positive...))}
}

// First returns the first element of an array, or the first character of a text.
func First(v, _ Value, r *matcher.Request) Value {
	switch v.Kind {
	case Array:
		return OfJSON(v.JSON().Index(0), r)
	case Text:
		_, size := utf8.DecodeRune(v.Raw)
		return OfText(v.Raw[:size])
	}
	return Value{}
}

// Last returns the last element of an array, or the last character of a text.
func Last(v, _ Value, r *matcher.Request) Value {
	switch v.Kind {
	case Array:
		return OfJSON(v.JSON().Index(v.JSON().Len()-1), r)
	case Text:
		_, size := utf8.DecodeLastRune(v.Raw)
		return OfText(v.Raw[len(v.Raw)-size:])
	}
	return Value{}
}

// timeOf returns the time of a value in UTC: an instant, or a text in ISO 8601.
func timeOf(v Value) (time.Time, bool) {
	switch v.Kind {
	case Instant:
		return v.time(), true
	case Text:
		return matcher.ParseTime(v.Raw)
	}
	return time.Time{}, false
}

// Default returns arg for a value that IsEmpty.
func Default(v, arg Value, _ *matcher.Request) Value {
	if v.IsEmpty() {
		return arg
	}
	return v
}

// EncodeJSON returns v as JSON text. A text becomes a JSON string,
// which is written unchanged in any place.
func EncodeJSON(v, _ Value, r *matcher.Request) Value {
	switch v.Kind {
	case Missing:
		return Value{Kind: Null, Raw: nullText}
	case Text, Instant:
		return Value{Kind: Encoded, Raw: r.Extend(v.AppendJSON(r.Arena))}
	}
	return v
}
