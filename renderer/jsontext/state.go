// Package jsontext determines what may come next in a JSON text that is read piece by piece, when
// the values of some pieces are unknown.
package jsontext

import (
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/renderer/value"
)

// State describes how far a JSON text has been read. The zero State is the beginning of a text,
// which may contain several values.
type State struct {
	at    expected
	open  []byte // the brackets that are open
	key   bool   // inString: the string is the name of a member
	hex   int    // inHex: how many digits are missing
	token string // inToken: a number or a word so far
}

// expected says what is allowed next in a JSON text.
type expected uint8

const (
	atStart    expected = iota // a value or the end: texts may contain several values
	atValue                    // a value
	atElement                  // a value, or the end of the array that has just begun
	atMember                   // a name, or the end of the object that has just begun
	atName                     // a name
	atColon                    // a colon
	afterValue                 // a comma or a closing bracket
	atBlank                    // a blank or the end
	inString
	inEscape
	inHex
	inToken
)

// Read reads a text, and reports whether it is allowed here.
func (s *State) Read(text string) bool {
	for i := range len(text) {
		if !s.readByte(text[i]) {
			return false
		}
	}
	return true
}

func (s *State) readByte(c byte) bool {
	switch s.at {
	case inString:
		return s.readString(c)
	case inEscape:
		s.at = inString
		if c == 'u' {
			s.at, s.hex = inHex, 4
		}
		return c == 'u' || strings.IndexByte(`"\/bfnrt`, c) >= 0
	case inHex:
		if s.hex--; s.hex == 0 {
			s.at = inString
		}
		return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0
	case inToken:
		if isTokenByte(c) {
			s.token += string(c)
			return true
		}
		if !s.endToken() {
			return false
		}
	}
	if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
		if s.at == atBlank {
			s.at = atStart
		}
		return true
	}
	return s.readMark(c)
}

func isTokenByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}

func (s *State) readString(c byte) bool {
	switch {
	case c == '\\':
		s.at = inEscape
	case c == '"' && s.key:
		s.at = atColon
	case c == '"':
		s.endScalar()
	}
	return c >= 0x20
}

// readMark reads the first character of a value or a name, or a character between them.
func (s *State) readMark(c byte) bool {
	if s.takesValue() && s.begin(c) {
		return true
	}
	ended := s.at == afterValue
	switch {
	case c == '"' && (s.at == atMember || s.at == atName):
		s.at, s.key = inString, true
	case c == ':' && s.at == atColon:
		s.at = atValue
	case c == ',' && ended && s.inside('{'):
		s.at = atName
	case c == ',' && ended:
		s.at = atValue
	default:
		return s.end(c)
	}
	return true
}

// end closes an object or an array, and reports whether that is allowed.
func (s *State) end(c byte) bool {
	object := c == '}' && s.inside('{') && (s.at == afterValue || s.at == atMember)
	array := c == ']' && s.inside('[') && (s.at == afterValue || s.at == atElement)
	if !object && !array {
		return false
	}
	s.open = s.open[:len(s.open)-1]
	if s.at = afterValue; len(s.open) == 0 {
		s.at = atStart
	}
	return true
}

// begin begins a value, and reports whether that is allowed.
func (s *State) begin(c byte) bool {
	switch {
	case c == '"':
		s.at, s.key = inString, false
	case c == '{':
		s.at, s.open = atMember, append(s.open, c)
	case c == '[':
		s.at, s.open = atElement, append(s.open, c)
	case isTokenByte(c):
		s.at, s.token = inToken, string(c)
	default:
		return false
	}
	return true
}

func (s *State) inside(bracket byte) bool { return len(s.open) > 0 && s.open[len(s.open)-1] == bracket }

func (s *State) takesValue() bool { return s.at == atStart || s.at == atValue || s.at == atElement }

func (s *State) endScalar() {
	if s.at = afterValue; len(s.open) == 0 {
		s.at = atBlank
	}
}

// endToken ends a number or a word, and reports whether it is valid.
func (s *State) endToken() bool {
	token := s.token
	s.token = ""
	s.endScalar()
	return value.IsKeyword([]byte(token)) || syntax.IsJSONNumber(token)
}

// Value passes an unknown value, and reports whether a value is allowed here.
func (s *State) Value() bool {
	takes := s.takesValue()
	s.endScalar()
	return takes
}

// Ended reports whether the text may end here.
func (s *State) Ended() bool {
	return (s.at != inToken || s.endToken()) && (s.at == atStart || s.at == atBlank)
}

// Same reports whether two texts have the same continuations.
func (s *State) Same(other *State) bool {
	return s.at == other.at && s.key == other.key && s.hex == other.hex && s.token == other.token && slices.Equal(s.open, other.open)
}

// Clone returns a copy that shares no memory.
func (s *State) Clone() State {
	c := *s
	c.open = slices.Clone(s.open)
	return c
}
