package scalar

import (
	"bytes"

	"mockserver/internal/json"
)

// A key that is a number has the same form in all notations: 4, 4.0 and 4e0 are the key 4. So has a
// text that is such a number without an exponent. A text such as 12e4, which may be hexadecimal,
// stays as it is; where a row is looked up, it first stands for itself, and then for the number.
// 007 is not a number.

// IsKey reports whether a text certainly has the form of a key already.
func IsKey(text []byte) bool {
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits == len(text) && (digits == 1 || text[0] != '0') || !json.IsNumber(text)
}

// IsAmbiguous reports whether a text that is a number may be meant otherwise.
func IsAmbiguous(text []byte) bool { return bytes.ContainsAny(text, "eE") }

// AppendKey appends the form that a key has, of up to about most bytes. The argument isText says
// that it is not a JSON number.
func AppendKey(to, text []byte, isText bool, most int) []byte {
	if IsKey(text) || isText && IsAmbiguous(text) {
		return append(to, text...)
	}
	return AppendPlain(to, text, most)
}
