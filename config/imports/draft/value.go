package draft

import (
	"fmt"
	"unicode/utf8"

	"mockserver/config/syntax"
)

// Map is a map of the configuration, in the order in which it is written. Its values are nil, bool,
// int, float64, string, Number, List, *Map or Flow. A text is written so that it is read as the
// same text, except for bytes that are not UTF-8.
type Map struct{ entries []entry }

// List is a list of values.
type List []any

// Number is a number in the syntax of JSON.
type Number string

// Flow is a map or list that is written on one line, such as {a: 1}.
type Flow struct{ Value any }

// entry is one key of a map.
type entry struct {
	key     string
	value   any
	comment string // after the key, on its line
}

// NewMap returns a map from alternating keys and values: NewMap("status", 200, "body", text).
func NewMap(pairs ...any) *Map {
	m := &Map{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, _ := pairs[i].(string)
		m.Set(key, pairs[i+1])
	}
	return m
}

// Set sets a key, at the end if it is new, and returns the map. In the key, bytes that are not
// UTF-8 are replaced first, as when the file is written, because two keys may then be equal.
func (m *Map) Set(key string, value any) *Map {
	key = written(key)
	for i := range m.entries {
		if m.entries[i].key == key {
			m.entries[i].value = value
			return m
		}
	}
	m.entries = append(m.entries, entry{key: key, value: value})
	return m
}

// written returns a key as it is written to the file.
func written(key string) string {
	if utf8.ValidString(key) {
		return key
	}
	return string([]rune(key))
}

// Get returns the value of a key; nil if there is none.
func (m *Map) Get(key string) any {
	key = written(key)
	for i := range m.entries {
		if m.entries[i].key == key {
			return m.entries[i].value
		}
	}
	return nil
}

// Comment sets the comment on the line of a key that is set.
func (m *Map) Comment(key, text string) *Map {
	key = written(key)
	for i := range m.entries {
		if m.entries[i].key == key {
			m.entries[i].comment = text
		}
	}
	return m
}

// Join appends the keys of another map and returns the map.
func (m *Map) Join(other *Map) *Map {
	m.entries = append(m.entries, other.entries...)
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int { return len(m.entries) }

// JSON returns the map as a JSON text on one line. The values must be nil, int, string or Number.
func (m *Map) JSON() string {
	b := []byte{'{'}
	for i, e := range m.entries {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(syntax.AppendJSON(b, e.key), ": "...)
		switch v := e.value.(type) {
		case nil:
			b = append(b, "null"...)
		case string:
			b = syntax.AppendJSON(b, v)
		default:
			b = append(b, fmt.Sprint(e.value)...)
		}
	}
	return string(append(b, '}'))
}
