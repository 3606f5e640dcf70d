package syntax

import (
	"fmt"
	"strings"
)

// flowScan searches collections in brackets for a text that should be in quotes. It is not a
// parser: it is only used after the YAML library has failed, to find out why.
type flowScan struct {
	text  string
	at    int
	depth int // number of open brackets
}

const flowBrackets = ",[]{}"

// unquoted finds a text inside { } or [ ] that is ended too early by one of the characters { [ ?,
// as in {path: /search?q=x}. It searches from the line on, or from the beginning of the brackets
// around the line.
func (s *source) unquoted(line int) (offset int, what string) {
	for line > 1 && endsOpen(s.lineText(line-1)) {
		line--
	}
	f := flowScan{text: s.text, at: s.starts[line-1]}
	if !f.open() {
		return 0, ""
	}
	for f.depth > 0 && f.at < len(f.text) {
		begin := f.token()
		if f.depth > 0 && f.at < len(f.text) && strings.IndexByte("{[?", f.text[f.at]) >= 0 && begin < f.at {
			return begin, fmt.Sprintf("a %c ends this text: inside { } and [ ], a text that holds one of %s is written in quotes", f.text[f.at], flowSpecial)
		}
	}
	return 0, ""
}

// endsOpen reports whether a line ends like a line inside brackets.
func endsOpen(line string) bool {
	line = strings.TrimRight(line, " \t")
	return line != "" && strings.IndexByte("{[,", line[len(line)-1]) >= 0
}

// open moves past the first bracket of the line that begins a value.
func (f *flowScan) open() bool {
	before := byte('-') // the last byte that is not a blank
	for ; f.at < len(f.text) && f.text[f.at] != '\n'; f.at++ {
		c := f.text[f.at]
		spaced := f.at == 0 || strings.IndexByte(" \t\r\n", f.text[f.at-1]) >= 0
		switch {
		case c == ' ' || c == '\t':
			continue
		case (c == '{' || c == '[') && spaced && (before == '-' || before == ':'):
			f.at++
			f.depth = 1
			return true
		}
		before = c
	}
	return false
}

// token moves past one token inside brackets. It returns where an unquoted text begins, if the
// position is now after one, otherwise f.at.
func (f *flowScan) token() (begin int) {
	switch c := f.text[f.at]; c {
	case ' ', '\t', '\r', '\n', ',', ':', '?':
		f.at++
	case '{', '[':
		f.at++
		f.depth++
	case '}', ']':
		f.at++
		f.depth--
	case '"', '\'':
		f.quoted(c)
	case '#':
		f.skipTo("\n")
	case '&', '*', '!':
		f.skipTo(" \t\r\n" + flowBrackets)
	default:
		begin = f.at
		f.plain()
		return begin
	}
	return f.at
}

// skipTo moves to the first of the given bytes, or to the end.
func (f *flowScan) skipTo(bytes string) {
	n := strings.IndexAny(f.text[f.at:], bytes)
	if n < 0 {
		n = len(f.text) - f.at
	}
	f.at += n
}

// quoted moves past a text in quotes.
func (f *flowScan) quoted(quote byte) {
	for f.at++; f.at < len(f.text); f.at++ {
		switch c := f.text[f.at]; {
		case c == '\\' && quote == '"':
			f.at++
		case c == quote:
			f.at++
			return
		}
	}
	f.at = len(f.text) // an escape at the end moves past the end
}

// plain moves past an unquoted text, to the character that ends it.
func (f *flowScan) plain() {
	for ; f.at < len(f.text); f.at++ {
		rest := f.text[f.at:]
		switch c := rest[0]; {
		case strings.IndexByte(flowBrackets+"?", c) >= 0:
			return
		case c == ':' && (len(rest) == 1 || strings.IndexByte(" \t\r\n"+flowBrackets, rest[1]) >= 0):
			return
		case strings.HasPrefix(rest, " #"):
			return
		}
	}
}
