// Package json provides a view of a JSON text: the text is checked once, and values are decoded
// only when they are needed.
package json

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of a Value. Missing, the zero Kind, means that there is no value: the text is not JSON,
// or the member or element does not exist.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is a view of one value in a JSON text: it is decoded only when needed, and numbers are kept
// as written. It is valid as long as the text is. The zero Value is Missing.
type Value struct {
	Kind Kind
	Raw  []byte // JSON text of the value, without blanks around it; nil for Missing
}

// byteOrderMark is the byte order mark that some editors and clients put before UTF-8 text.
var byteOrderMark = []byte("\ufeff")

// Parse checks b against RFC 8259 and returns its value, whose Raw is a slice of b. A byte order
// mark at the beginning is allowed. It returns Missing for a text that is not JSON, is not valid
// UTF-8, or nests deeper than 10,000.
func Parse(b []byte) Value {
	v, _ := ParseObject(b, nil)
	return v
}

// Member is one member of an object.
type Member struct{ Key, Value Value }

// ParseObject is like Parse. If b is an object, it also appends the members of b to members, up to
// the capacity.
func ParseObject(b []byte, members []Member) (Value, []Member) {
	b = bytes.TrimPrefix(b, byteOrderMark)
	if len(b) == 0 || !utf8.Valid(b) {
		return Value{}, members
	}
	c := checker{text: b, members: members}
	if !c.run() {
		clear(c.members) // they would keep the text in memory
		return Value{}, members
	}
	end := len(b)
	for isBlank(b[end-1]) {
		end--
	}
	return valueOf(b[skipBlanks(b, 0):end]), c.members
}

// valueOf returns the value of raw, which is valid JSON without blanks around it.
func valueOf(raw []byte) Value { return Value{Kind: kindOf(raw[0]), Raw: raw} }

// kindOf returns the kind of a value that begins with c.
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

// Member returns the value of an object's member. If several members have the name, it returns the
// last one. It returns Missing if there is no such member, or if v is not an object.
func (v Value) Member(name string) Value {
	_, found := v.Place(name)
	return found
}

// First returns the value of the first member with a name, and does not look at those after it. It returns Missing if
// there is no such member, or if v is not an object.
func (v Value) First(name string) Value {
	if v.Kind != Object {
		return Value{}
	}
	for c := v.cursor(); c.more(); {
		key := c.key()
		if value := c.value(); key.Equals(name) {
			return value
		}
	}
	return Value{}
}

// Place returns the offset of a member's value in Raw, and the value, as Member finds it.
func (v Value) Place(name string) (at int, found Value) {
	if v.Kind != Object {
		return 0, found
	}
	for c := v.cursor(); c.more(); {
		key := c.key()
		from := c.at
		if value := c.value(); key.Equals(name) {
			at, found = from, value
		}
	}
	return at, found
}

// AppendMembers appends the members of an object, in order.
func (v Value) AppendMembers(to []Member) []Member {
	if v.Kind != Object {
		return to
	}
	for c := v.cursor(); c.more(); {
		key := c.key()
		to = append(to, Member{key, c.value()})
	}
	return to
}

// Index returns the i-th element of an array, from 0. It returns Missing if there is no such
// element, or if v is not an array.
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

// Len returns the number of elements of an array, or of members of an object as written (a repeated
// one counts each time). It returns 0 for other kinds.
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

// AppendText appends the decoded text of a string, or the JSON text of any other value. In a
// string, half a surrogate pair becomes U+FFFD.
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

// inner returns the text of a string as written, without its quotes.
func (v Value) inner() []byte { return v.Raw[1 : len(v.Raw)-1] }

// Equals reports whether the decoded text of v, which must be a String, equals name.
func (v Value) Equals(name string) bool {
	s := v.inner()
	switch { // a text with escapes is longer than what it represents
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

// Elements iterates over the elements of an array.
type Elements struct{ cursor cursor }

// Elements returns an iterator over the elements of an array. For other kinds it is empty.
func (v Value) Elements() Elements {
	if v.Kind != Array {
		return Elements{}
	}
	return Elements{v.cursor()}
}

// Next returns the next element, and false after the last one.
func (e *Elements) Next() (Value, bool) {
	if !e.cursor.more() {
		return Value{}, false
	}
	return e.cursor.value(), true
}

// AppendCompact appends a valid JSON text, or a part of one that does not begin within a string,
// without the blanks between its tokens. dst may be the memory before the text itself.
func AppendCompact(dst, text []byte) []byte {
	begin := 0 // of the part that is not yet appended
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case isBlank(c):
			dst = append(dst, text[begin:i]...)
			for i+1 < len(text) && isBlank(text[i+1]) {
				i++
			}
			begin = i + 1
		}
	}
	return append(dst, text[min(begin, len(text)):]...)
}

// Same reports whether two texts are JSON and differ only in the blanks between their tokens.
func Same(a, b []byte) bool {
	return Parse(a).Kind != Missing && Parse(b).Kind != Missing && bytes.Equal(AppendCompact(nil, a), AppendCompact(nil, b))
}
