package renderer

import (
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// way is the state of one path through the blocks of a JSON text.
type way struct {
	at    jsonState
	open  []byte // the brackets that are open
	key   bool   // inString: it is the name of a member
	hex   int    // inHex: how many digits are missing
	token string // inToken: a number or a word so far
	taken choices
}

// jsonState is what is allowed next in a JSON text.
type jsonState uint8

const (
	atStart    jsonState = iota // a value or the end: texts may hold several values
	atValue                     // a value
	atElement                   // a value, or the end of the array that has just begun
	atMember                    // a name, or the end of the object that has just begun
	atName                      // a name
	atColon                     // a colon
	afterValue                  // a comma or a closing bracket
	atBlank                     // a blank or the end
	inString
	inEscape
	inHex
	inToken
)

// read reads a text, and reports whether it is allowed here.
func (w *way) read(text string) bool {
	for i := range len(text) {
		if !w.readByte(text[i]) {
			return false
		}
	}
	return true
}

func (w *way) readByte(c byte) bool {
	switch w.at {
	case inString:
		return w.readString(c)
	case inEscape:
		w.at = inString
		if c == 'u' {
			w.at, w.hex = inHex, 4
		}
		return c == 'u' || strings.IndexByte(`"\/bfnrt`, c) >= 0
	case inHex:
		if w.hex--; w.hex == 0 {
			w.at = inString
		}
		return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0
	case inToken:
		if isTokenByte(c) {
			w.token += string(c)
			return true
		}
		if !w.endToken() {
			return false
		}
	}
	if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
		if w.at == atBlank {
			w.at = atStart
		}
		return true
	}
	return w.readMark(c)
}

func isTokenByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}

func (w *way) readString(c byte) bool {
	switch {
	case c == '\\':
		w.at = inEscape
	case c == '"' && w.key:
		w.at = atColon
	case c == '"':
		w.endScalar()
	}
	return c >= 0x20
}

// readMark reads the first character of a value or a name, or a character between them.
func (w *way) readMark(c byte) bool {
	if w.takesValue() && w.begin(c) {
		return true
	}
	ended := w.at == afterValue
	switch {
	case c == '"' && (w.at == atMember || w.at == atName):
		w.at, w.key = inString, true
	case c == ':' && w.at == atColon:
		w.at = atValue
	case c == ',' && ended && w.inside('{'):
		w.at = atName
	case c == ',' && ended:
		w.at = atValue
	default:
		return w.end(c)
	}
	return true
}

// end ends an object or an array, and reports whether that is allowed.
func (w *way) end(c byte) bool {
	object := c == '}' && w.inside('{') && (w.at == afterValue || w.at == atMember)
	array := c == ']' && w.inside('[') && (w.at == afterValue || w.at == atElement)
	if !object && !array {
		return false
	}
	w.open = w.open[:len(w.open)-1]
	if w.at = afterValue; len(w.open) == 0 {
		w.at = atStart
	}
	return true
}

// begin begins a value, and reports whether that is allowed.
func (w *way) begin(c byte) bool {
	switch {
	case c == '"':
		w.at, w.key = inString, false
	case c == '{':
		w.at, w.open = atMember, append(w.open, c)
	case c == '[':
		w.at, w.open = atElement, append(w.open, c)
	case isTokenByte(c):
		w.at, w.token = inToken, string(c)
	default:
		return false
	}
	return true
}

func (w *way) inside(bracket byte) bool { return len(w.open) > 0 && w.open[len(w.open)-1] == bracket }

func (w *way) takesValue() bool { return w.at == atStart || w.at == atValue || w.at == atElement }

func (w *way) endScalar() {
	if w.at = afterValue; len(w.open) == 0 {
		w.at = atBlank
	}
}

// endToken ends a number or a word, and reports whether it is valid.
func (w *way) endToken() bool {
	token := w.token
	w.token = ""
	w.endScalar()
	return isKeyword([]byte(token)) || syntax.IsJSONNumber(token)
}

// put passes a placeholder, and reports whether it is allowed here.
func (w *way) put(as writer) bool {
	if !as.isJSONValue() {
		return true // inside a string
	}
	takes := w.takesValue()
	w.endScalar()
	return takes
}

// ended reports whether the text may end there.
func (w *way) ended() bool {
	return (w.at != inToken || w.endToken()) && (w.at == atStart || w.at == atBlank)
}

// same reports whether two paths have the same continuations.
func (w *way) same(other *way) bool {
	return w.at == other.at && w.key == other.key && w.hex == other.hex && w.token == other.token && slices.Equal(w.open, other.open)
}

// maxChoices is the maximum number of choices in a text that are distinguished.
const maxChoices = 256

// choices is a set of choices, by number.
type choices [maxChoices / 64]uint64

func (c *choices) add(i int)      { c[i/64] |= 1 << (i % 64) }
func (c *choices) has(i int) bool { return c[i/64]>>(i%64)&1 == 1 }
func (c *choices) join(d choices) {
	for i := range c {
		c[i] |= d[i]
	}
}
