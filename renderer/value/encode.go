package value

import (
	"mockserver/internal/json"
)

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
