package json

import (
	"bytes"
	"encoding/hex"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is the maximum depth to which arrays and objects may be nested.
const maxNesting = 10_000

// Plain contains the bytes that represent themselves in a JSON string. It is never changed.
var Plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// checker checks a text against RFC 8259. Instead of recursing it stores one bit for each open
// bracket, so that no input can exhaust the stack.
type checker struct {
	text  []byte
	at    int
	depth int
	first uint64   // bits of the outermost 64 open brackets; a bit is set for an object
	deep  []uint64 // bits of the others

	// members contains the members of the object, if the text is one, up to the capacity. name and
	// valueBegin belong to the last member.
	members    []Member
	name       Value
	valueBegin int
}

// run reports whether the text is exactly one JSON value.
func (c *checker) run() bool {
	for {
		if !c.enter() {
			return false
		}
		more, ok := c.leave()
		if !more {
			return ok
		}
	}
}

// enter scans one value, or opening brackets up to the first value inside them.
func (c *checker) enter() bool {
	for {
		switch b := c.peek(); b {
		case '"':
			return c.str()
		case '{', '[':
			if !c.open(b == '{') {
				return false
			}
			next := c.peek()
			if next == b+2 { // the closing bracket of either kind
				c.at++
				c.depth--
				return true
			}
			if b == '{' && !c.key() {
				return false
			}
		case 't':
			return c.word("true")
		case 'f':
			return c.word("false")
		case 'n':
			return c.word("null")
		default:
			return c.number()
		}
	}
}

// leave scans closing brackets and then a comma with the key after it, or the end. It reports
// whether another value follows and, if not, whether the text is valid.
func (c *checker) leave() (more, ok bool) {
	for {
		end := c.at
		b := c.peek()
		if c.depth == 0 {
			return false, c.at == len(c.text)
		}
		if c.depth == 1 && len(c.members) < cap(c.members) && c.inObject() {
			c.members = append(c.members, Member{c.name, valueOf(c.text[c.valueBegin:end:end])})
		}
		c.at++
		switch {
		case b == ',':
			ok = !c.inObject() || c.key()
			return ok, ok
		case b == '}' && c.inObject(), b == ']' && !c.inObject():
			c.depth--
		default:
			return false, false
		}
	}
}

// peek skips blanks and returns the byte after them; 0 at the end.
func (c *checker) peek() byte {
	c.at = skipBlanks(c.text, c.at)
	if c.at == len(c.text) {
		return 0
	}
	return c.text[c.at]
}

func (c *checker) open(object bool) bool {
	c.at++
	if c.depth == maxNesting {
		return false
	}
	var bit uint64
	if object {
		bit = 1
	}
	word := &c.first
	if n := c.depth / 64; n > 0 {
		if n > len(c.deep) {
			c.deep = append(c.deep, 0)
		}
		word = &c.deep[n-1]
	}
	shift := c.depth % 64
	*word = *word&^(1<<shift) | bit<<shift
	c.depth++
	return true
}

func (c *checker) inObject() bool {
	word, top := c.first, c.depth-1
	if n := top / 64; n > 0 {
		word = c.deep[n-1]
	}
	return word>>(top%64)&1 == 1
}

// key reads a member's name and its colon.
func (c *checker) key() bool {
	if c.peek() != '"' {
		return false
	}
	begin := c.at
	if !c.str() {
		return false
	}
	end := c.at
	if c.peek() != ':' {
		return false
	}
	c.at++
	if c.depth == 1 && c.members != nil {
		c.name = Value{String, c.text[begin:end:end]}
		c.valueBegin = skipBlanks(c.text, c.at)
	}
	return true
}

func (c *checker) word(w string) bool {
	if len(c.text)-c.at < len(w) || string(c.text[c.at:c.at+len(w)]) != w {
		return false
	}
	c.at += len(w)
	return true
}

func (c *checker) str() bool {
	t, i := c.text, c.at+1
	for {
		for i < len(t) && Plain[t[i]] {
			i++
		}
		if i >= len(t) {
			return false
		}
		switch {
		case t[i] == '"':
			c.at = i + 1
			return true
		case t[i] != '\\' || i+1 == len(t):
			return false
		case t[i+1] == 'u':
			if _, ok := hex4(t[i+2:]); !ok {
				return false
			}
			i += 6
		case unescaped(t[i+1]) == 0:
			return false
		default:
			i += 2
		}
	}
}

func (c *checker) number() bool {
	end := numberEnd(c.text, c.at)
	c.at = max(end, c.at)
	return end >= 0
}

// IsNumber reports whether a text is a number by the grammar of RFC 8259: no blanks, no leading
// zeros, digits on both sides of the point. It does not allocate.
func IsNumber[T string | []byte](s T) bool { return len(s) > 0 && numberEnd(s, 0) == len(s) }

// numberEnd returns where the number in s that starts at i ends, or -1 if none does.
func numberEnd[T string | []byte](s T, i int) int {
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := digitsEnd(s, i)
	if whole == i || whole > i+1 && s[i] == '0' {
		return -1
	}
	if i = whole; i < len(s) && s[i] == '.' {
		if i = digitsEnd(s, i+1); i == whole+1 {
			return -1
		}
	}
	if i == len(s) || s[i]|0x20 != 'e' {
		return i
	}
	if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	if end := digitsEnd(s, i); end > i {
		return end
	}
	return -1
}

// digitsEnd returns where the decimal digits in s that start at i end.
func digitsEnd[T string | []byte](s T, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' < 10 }

func skipBlanks(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isBlank(b[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// cursor iterates over the content of an array or object that is known to be valid.
type cursor struct {
	text []byte
	at   int // offset of the opening bracket, or immediately after the last value
}

func (v Value) cursor() cursor { return cursor{text: v.Raw} }

// more skips a bracket or comma and reports whether a value follows.
func (c *cursor) more() bool {
	if len(c.text) == 0 {
		return false
	}
	c.at = skipBlanks(c.text, c.at)
	if c.at >= len(c.text)-1 {
		return false
	}
	c.at = skipBlanks(c.text, c.at+1)
	return c.at < len(c.text)-1
}

// key reads a member's name and its colon.
func (c *cursor) key() Value {
	v := c.value()
	c.at = skipBlanks(c.text, c.at)
	c.at = skipBlanks(c.text, c.at+1)
	return v
}

func (c *cursor) value() Value {
	start := c.at
	c.at = valueEnd(c.text, start)
	return valueOf(c.text[start:c.at:c.at])
}

// valueEnd returns the end of the value that begins at i, in valid JSON.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return bracketEnd(b, i)
	}
	for i < len(b) && scalar[b[i]] {
		i++
	}
	return i
}

// scalar contains the bytes of numbers and words.
var scalar = func() (t [256]bool) {
	for _, c := range "0123456789+-.eEtrufalsn" {
		t[c] = true
	}
	return t
}()

// stringEnd returns the offset after the closing quote of the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		for Plain[b[i]] {
			i++
		}
		if b[i] == '"' {
			return i + 1
		}
		i++ // skip the escaped byte, which is never the closing quote
	}
}

// bracketEnd returns the offset after the bracket that closes the one at i. In valid JSON the two
// kinds of brackets need not be distinguished.
func bracketEnd(b []byte, i int) int {
	for depth := 0; ; {
		for !structural[b[i]] {
			i++
		}
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// structural contains the bytes at which bracketEnd stops.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// nextRune decodes the first character of s, which is the inside of a valid JSON string and not
// empty.
func nextRune(s []byte) (c rune, rest []byte) {
	if s[0] != '\\' {
		c, n := utf8.DecodeRune(s)
		return c, s[n:]
	}
	if s[1] != 'u' {
		return rune(unescaped(s[1])), s[2:]
	}
	c, _ = hex4(s[2:])
	s = s[6:]
	if !utf16.IsSurrogate(c) {
		return c, s
	}
	if bytes.HasPrefix(s, []byte(`\u`)) {
		low, _ := hex4(s[2:])
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			return pair, s[6:]
		}
	}
	return utf8.RuneError, s
}

// unescaped returns the byte that a backslash and c represent; 0 if the escape is invalid.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// hex4 decodes four hexadecimal digits.
func hex4(b []byte) (c rune, ok bool) {
	var unit [2]byte
	if len(b) < 4 {
		return 0, false
	}
	_, err := hex.Decode(unit[:], b[:4])
	return rune(unit[0])<<8 | rune(unit[1]), err == nil
}
