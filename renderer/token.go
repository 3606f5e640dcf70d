package renderer

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// source is the text being compiled, which collects its problems.
type source struct {
	text     syntax.Text
	scope    *Scope
	loops    []string // the variables of the surrounding for blocks, outermost first
	memos    int      // number of values inside loops that are computed once
	problems syntax.Problems

	errors, warnings int // how many there were, recorded or not
}

// newSource returns the source of a text, in the loops that its scope has.
func newSource(text syntax.Text, scope *Scope) *source {
	return &source{text: text, scope: scope, loops: slices.Clip(scope.Loops)}
}

// maxErrors limits how many errors are recorded for one text, and how many warnings: a text may
// have millions, and each needs a lookup of its position.
const maxErrors = 100

// full reports whether there are enough errors to stop looking for more.
func (s *source) full() bool { return s.errors > maxErrors }

// fail records an error at an offset of the text.
func (s *source) fail(offset int, format string, args ...any) {
	s.errors++
	s.record(s.errors, syntax.Problem{}, offset, format, args...)
}

// warn records a warning at an offset of the text.
func (s *source) warn(offset int, format string, args ...any) {
	s.warnings++
	s.record(s.warnings, syntax.Problem{Warning: true}, offset, format, args...)
}

// record completes a problem and stores it. The first one beyond the limit represents the rest.
func (s *source) record(number int, p syntax.Problem, offset int, format string, args ...any) {
	switch {
	case number > maxErrors+1:
		return
	case number > maxErrors:
		p.Rest = true
		format, args = "this text has more than %d errors; the rest is not read", []any{maxErrors}
		if p.Warning {
			format = "this text has more than %d warnings; the rest are not listed"
		}
	}
	p.Pos, p.Key, p.What = s.text.At(offset), s.text.Key, fmt.Sprintf(format, args...)
	s.problems = append(s.problems, p)
}

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	textToken  // a quoted text; its token's text is unquoted
	operator   // = != > < >= <= contains matches
	punctuator // ( ) | : , {{ }}
	badToken   // already reported
)

// token is one word of an expression or condition.
type token struct {
	kind   tokenKind
	text   string
	offset int // in the whole text
}

// is reports whether the token is the given operator or punctuation mark.
func (t token) is(text string) bool {
	return (t.kind == punctuator || t.kind == operator) && t.text == text
}

// word reports whether the token is the given bare word.
func (t token) word(text string) bool { return t.kind == wordToken && t.text == text }

// describe returns the token as shown in messages.
func (t token) describe() string {
	if t.kind == endToken {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// scanner splits the text from pos to end into tokens. It reads one token ahead.
type scanner struct {
	*source
	pos, end int
	tok      token
	calls    int     // how many function calls surround this one
	lone     bool    // the comparison before the token has no operator
	bare     bool    // an unknown word is a text, as in conditions
	unset    []token // unset environment variables in the expression that have no default yet
}

func newScanner(s *source, pos, end int) *scanner {
	sc := &scanner{source: s, pos: pos, end: end}
	sc.next()
	return sc
}

// wordEnds are the characters that end a bare word.
const wordEnds = " \t\r\n|():,\"'=<>!{}"

// next reads the next token into tok.
func (s *scanner) next() {
	value := s.text.Value
	for s.pos < s.end && strings.IndexByte(" \t\r\n", value[s.pos]) >= 0 {
		s.pos++
	}
	start := s.pos
	if start >= s.end {
		s.tok = token{kind: endToken, offset: s.end}
		return
	}
	rest := value[start:s.end]
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		s.quoted(c)
		return
	case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
		s.take(punctuator, 2)
	case strings.HasPrefix(rest, "!="), strings.HasPrefix(rest, ">="), strings.HasPrefix(rest, "<="):
		s.take(operator, 2)
	case c == '=' || c == '<' || c == '>':
		s.take(operator, 1)
	case strings.IndexByte("|():,", c) >= 0:
		s.take(punctuator, 1)
	case strings.IndexByte(wordEnds, c) >= 0:
		s.take(badToken, 1)
		s.fail(start, "unexpected %q", string(c))
	default:
		s.take(wordToken, wordLength(rest))
		if s.tok.text == "contains" || s.tok.text == "matches" {
			s.tok.kind = operator
		}
	}
}

func (s *scanner) take(kind tokenKind, n int) {
	s.tok = token{kind: kind, text: s.text.Value[s.pos : s.pos+n], offset: s.pos}
	s.pos += n
}

// wordLength returns the length of the bare word at the beginning of s. It includes names in
// brackets and quotes: json-params["dc:title"].
func wordLength(s string) int {
	for n := 0; ; {
		more := strings.IndexAny(s[n:], wordEnds)
		if more < 0 {
			return len(s)
		}
		n += more
		if n == 0 || s[n-1] != '[' {
			return n
		}
		_, end := unquoted(s[n:])
		if end == 0 {
			return n
		}
		n += end
	}
}

// quoted reads a quoted text.
func (s *scanner) quoted(quote byte) {
	start := s.pos
	text, n := unquoted(s.text.Value[start:s.end])
	if n > 0 {
		s.pos = start + n
		s.tok = token{kind: textToken, text: text, offset: start}
		return
	}
	s.pos = s.end
	s.tok = token{kind: badToken, offset: start}
	s.fail(start, "this text is not closed: a %c is missing", quote)
}

// unquoted returns the quoted text at the beginning of s, and its length including the quotes; the
// length is 0 if there is none or it is not closed. A backslash escapes the quote and itself, and
// introduces \n, \r and \t; elsewhere it is literal, so that regular expressions need no double
// backslashes.
func unquoted(s string) (text string, n int) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1
		case c == '\\' && i+1 < len(s):
			i++
			switch at := strings.IndexByte("nrt", s[i]); {
			case at >= 0:
				b.WriteByte("\n\r\t"[at])
			case s[i] != s[0] && s[i] != '\\':
				b.WriteByte('\\')
				fallthrough
			default:
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0
}

// maxDepth limits the nesting of blocks, of parentheses in conditions, and of function calls.
const maxDepth = 100
