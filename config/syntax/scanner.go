package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// scanner is the common part of the readers of JSON and EDN. at is the index of the next byte in s.
type scanner struct {
	tree
	s  string
	at int
}

func newScanner(src *source) scanner { return scanner{tree: tree{src: src}, s: src.text} }

// syntaxError is the reason why reading ends early.
type syntaxError struct {
	Problem
	final  bool // no other syntax accepts the file
	escape bool // an escape is unknown
}

func (e *syntaxError) Error() string { return e.What }

func (r *scanner) fail(offset int, format string, args ...any) error {
	return &syntaxError{Problem: Problem{Pos: r.src.pos(offset), What: fmt.Sprintf(format, args...)}}
}

func (r *scanner) tooDeep(offset int) error {
	what := "values are nested more than " + strconv.Itoa(MaxDepth) + " deep"
	return &syntaxError{Problem: Problem{Pos: r.src.pos(offset), What: what}, final: true}
}

// text reads a text in double quotes. In JSON it is on one line without control characters. If it has
// escapes or several lines, it has only the position of its beginning.
func (r *scanner) text(json bool) (Text, error) {
	begin := r.at + 1
	end, escaped := begin, false
	for end < len(r.s) && r.s[end] != '"' && !(json && r.s[end] < ' ') {
		size := 1
		if r.s[end] == '\\' {
			escaped = true
			if _, size = unescape(r.s[end:]); size == 0 {
				what := `an unknown escape; expected \" \\ \/ \b \f \n \r \t or \uHHHH, two of them for a surrogate pair`
				return Text{}, &syntaxError{Problem: Problem{Pos: r.src.pos(end), What: what}, escape: true}
			}
		}
		end += size
	}
	switch {
	case json && (end >= len(r.s) || r.s[end] == '\n'):
		return Text{}, r.fail(r.at, "a quote that is never closed on its line")
	case end >= len(r.s):
		return Text{}, r.fail(r.at, "a quote that is never closed: the text that begins here continues to the end of the file")
	case r.s[end] < ' ':
		return Text{}, r.fail(end, "a control character inside a text; it is written as an escape, \\t for a tab")
	}
	t := Text{Value: r.s[begin:end], Pos: r.src.pos(begin)}
	if escaped || strings.ContainsAny(t.Value, "\r\n") {
		t = Text{Value: unescaped(t.Value), Pos: r.src.pos(r.at), Folded: true}
	}
	r.at = end + 1
	return t, nil
}

// unescaped returns a text with its escapes, which are valid, replaced.
func unescaped(text string) string {
	var out strings.Builder
	for text != "" {
		plain, _, _ := strings.Cut(text, `\`)
		out.WriteString(plain)
		if text = text[len(plain):]; text != "" {
			letter, size := unescape(text)
			out.WriteRune(letter)
			text = text[size:]
		}
	}
	return out.String()
}

// unescape reads one escape and returns its length; 0 if it is invalid.
func unescape(s string) (rune, int) {
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(letters, s[1]); i >= 0 {
		return rune(meanings[i]), 2
	}
	unit, ok := hexUnit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(unit) {
		return unit, 6
	}
	low, ok := hexUnit(s[6:])
	if pair := utf16.DecodeRune(unit, low); ok && pair != '\uFFFD' {
		return pair, 12
	}
	return 0, 0
}

// hexUnit reads \uHHHH.
func hexUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}
