package events

import (
	"bytes"
	"strings"
)

// Field is a field of an event, without the space before its value. A comment has no name.
type Field struct{ Name, Value string }

// Data is the name of the field with the content of an event.
const Data = "data"

// Parse returns the fields and comments of a piece. Its data is one field, of several lines if there are several.
func Parse(piece []byte) (fields []Field) {
	data := -1
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(bytes.TrimPrefix(piece, []byte("\ufeff"))))
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
		case name == Data && data >= 0:
			fields[data].Value += "\n" + value
		default:
			if name == Data {
				data = len(fields)
			}
			fields = append(fields, Field{name, value})
		}
	}
	return fields
}

// Append appends fields as an event.
func Append(b []byte, fields []Field) []byte {
	for _, f := range fields {
		for line := range strings.SplitSeq(f.Value, "\n") {
			b = append(append(append(append(b, f.Name...), ": "...), line...), '\n')
		}
	}
	return append(b, '\n')
}
