// Package json is a JSON text as a view: the text is checked once, and nothing of it is
// decoded before it is asked for.
package json

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Kind is what a JSON value is.
type Kind uint8

// The kinds of a Value. Missing, the zero Kind, is no value at all: a text that
// is not JSON, a member or element that is not there.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is one value inside a JSON text, as a view: nothing is decoded before it
// is asked for, and numbers stay as they were written. It is valid as long as
// the text is, and the zero Value is Missing.
type Value struct {
	Kind Kind
	Raw  []byte // its JSON text, without blanks around it; nil for Missing
}

// byteOrderMark is what some editors and clients put before a UTF-8 text.
var byteOrderMark = []byte("\ufeff")

// Parse checks b against RFC 8259 and returns its value, whose Raw is a slice of b. A byte
// order mark in front is allowed. It returns Missing for a text that is not JSON, is not
// valid UTF-8, or nests deeper than 10,000.
func Parse(b []byte) Value {
	v, _ := ParseObject(b, nil)
	return v
}

// Member is one member of an object.
type Member struct{ Key, Value Value }

// ParseObject is Parse, and appends the members of the object that b is to members, as
// many as there is room for.
func ParseObject(b []byte, members []Member) (Value, []Member) {
	b = bytes.TrimPrefix(b, byteOrderMark)
	if len(b) == 0 || !utf8.Valid(b) {
		return Value{}, members
	}
	c := checker{text: b, members: members}
	if !c.run() {
		clear(c.members) // they would keep the text
		return Value{}, members
	}
	end := len(b)
	for isBlank(b[end-1]) {
		end--
	}
	return valueOf(b[skipBlanks(b, 0):end]), c.members
}

// valueOf is the value that raw, valid JSON without blanks around it, is.
func valueOf(raw []byte) Value { return Value{Kind: kindOf(raw[0]), Raw: raw} }

// kindOf is the kind of the value that begins with c.
func kindOf(c byte) Kind {
	switch c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		return Number
	}
}

// Member is the value of an object's member; of several with one name the last.
// It is Missing when there is none, or v is not an object.
func (v Value) Member(name string) Value {
	var found Value
	if v.Kind != Object {
		return found
	}
	for c := v.cursor(); c.more(); {
		key, value := c.key(), c.value()
		if key.Equals(name) {
			found = value
		}
	}
	return found
}

// Index is the i-th element of an array, from 0; Missing when there is none, or
// v is not an array.
func (v Value) Index(i int) Value {
	if i < 0 {
		return Value{}
	}
	elements := v.Elements()
	for {
		value, ok := elements.Next()
		if !ok || i == 0 {
			return value
		}
		i--
	}
}

// Len is the number of elements of an array, or of members of an object as
// written (a repeated one counts each time); 0 for the rest.
func (v Value) Len() int {
	if v.Kind != Array && v.Kind != Object {
		return 0
	}
	n := 0
	for c := v.cursor(); c.more(); n++ {
		if v.Kind == Object {
			c.key()
		}
		c.value()
	}
	return n
}

// AppendText appends a string's decoded text, where half a surrogate pair
// becomes U+FFFD, or the JSON text of any other value.
func (v Value) AppendText(dst []byte) []byte {
	if v.Kind != String {
		return append(dst, v.Raw...)
	}
	for s := v.inner(); len(s) > 0; {
		plain := bytes.IndexByte(s, '\\')
		if plain < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:plain]...)
		var c rune
		c, s = nextRune(s[plain:])
		dst = utf8.AppendRune(dst, c)
	}
	return dst
}

// inner is a string's text as written, between its quotes.
func (v Value) inner() []byte { return v.Raw[1 : len(v.Raw)-1] }

// Equals reports whether the decoded text of v, a String, is name.
func (v Value) Equals(name string) bool {
	s := v.inner()
	switch { // what has escapes is longer than what it stands for
	case len(s) < len(name):
		return false
	case len(s) == len(name):
		return string(s) == name && strings.IndexByte(name, '\\') < 0
	case bytes.IndexByte(s, '\\') < 0:
		return false
	}
	for len(s) > 0 {
		var want, got rune
		want, s = nextRune(s)
		if len(name) == 0 {
			return false
		}
		var size int
		got, size = utf8.DecodeRuneInString(name)
		if got != want || got == utf8.RuneError && size == 1 {
			return false
		}
		name = name[size:]
	}
	return name == ""
}

// Elements walks the elements of an array.
type Elements struct{ cursor cursor }

// Elements returns a walk over an array's elements; over nothing for other kinds.
func (v Value) Elements() Elements {
	if v.Kind != Array {
		return Elements{}
	}
	return Elements{v.cursor()}
}

// Next returns the next element, and false after the last.
func (e *Elements) Next() (Value, bool) {
	if !e.cursor.more() {
		return Value{}, false
	}
	return e.cursor.value(), true
}
