package rows

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"mockserver/internal/json"
	"mockserver/internal/wording"
)

// short is the error for a JSON text that ends too early.
const short = "unexpected end of the JSON text"

// fault returns what is wrong with a JSON text, and the offset of the error; "" if the text is
// valid.
func fault(text []byte) (at int, what string) {
	valid := validPrefix(text)
	d := stdjson.NewDecoder(bytes.NewReader(text[:valid]))
	var raw stdjson.RawMessage
	var syntax *stdjson.SyntaxError
	err := d.Decode(&raw)
	if errors.As(err, &syntax) {
		return int(syntax.Offset) - 1, syntax.Error()
	}
	if err == nil {
		at = int(d.InputOffset())
		if at += blanks(text[at:]); at < valid {
			return at, fmt.Sprintf("unexpected %q after the end of the JSON text", text[at])
		}
	}
	switch {
	case valid < len(text):
		return valid, "invalid UTF-8"
	case err != nil:
		return valid, short
	}
	return 0, ""
}

// validPrefix returns the length of the valid UTF-8 at the beginning of a text.
func validPrefix(text []byte) int {
	at := 0
	for at < len(text) {
		c, n := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// valueEnd returns the size of the value at the beginning of b, which is not a blank, and whether
// it ends within b. JSON does not allow control characters in a string, so a control character is
// assumed to end the value: otherwise a missing quote would turn the rest of the file into one row.
func valueEnd(b []byte) (int, bool) {
	switch {
	case len(b) == 0:
		return 0, false
	case b[0] == '{' || b[0] == '[':
		return bracketEnd(b)
	case b[0] == '"':
		n := textEnd(b, 0)
		return n, n > 0
	}
	n := bytes.IndexAny(b[1:], "\"{}[],: \t\r\n")
	return n + 1, n >= 0
}

// structural contains the bytes at which bracketEnd stops.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

func bracketEnd(b []byte) (int, bool) {
	depth := 0
	for i := 0; ; {
		for i < len(b) && !structural[b[i]] {
			i++
		}
		if i == len(b) {
			return 0, false
		}
		switch b[i] {
		case '"':
			i = textEnd(b, i)
			if i == 0 || b[i-1] != '"' {
				return i, i > 0
			}
			continue
		case '{', '[':
			depth++
		default: // whether the brackets match is checked later
			depth--
		}
		i++
		if depth == 0 {
			return i, true
		}
	}
}

// textEnd returns the offset after the text that begins with the quote at i, or after the control
// character in it; 0 if b ends first.
func textEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch {
		case json.Plain[b[i]]:
		case b[i] == '\\':
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// appendMember appends a member at the end of a path, including the objects around it. value is a
// JSON text.
func appendMember(dst []byte, path []string, value []byte) []byte {
	for i, name := range path {
		if i > 0 {
			dst = append(dst, '{')
		}
		dst = append(json.AppendString(dst, []byte(name)), ':')
	}
	dst = append(dst, value...)
	for range path[1:] {
		dst = append(dst, '}')
	}
	return dst
}

// offset returns the offset of part in text. part must be a slice of text, and not empty.
func offset(text, part []byte) int {
	for i := range text {
		if &text[i] == &part[0] {
			return i
		}
	}
	return 0
}

// quoted returns a text of the file for a message, in quotes and truncated.
func quoted(text []byte) string { return strconv.Quote(wording.Clip(string(text))) }
