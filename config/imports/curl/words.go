package curl

import (
	"regexp"
	"strconv"
	"strings"
)

// word is a word of a command, as a shell passes it to the program.
type word struct {
	text         string
	line, column int
	variable     bool // it contains a shell variable, which is taken literally
}

// piece matches blanks (a caret escapes a line break on Windows), the end of a command, a comment or a
// part of a word: in quotes of three kinds, escaped, or plain.
var piece = regexp.MustCompile(`^(?s:([ \t\r]+|\\\r?\n|\^\r\n)|([\n;|&])|(#[^\n]*)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\$'((?:[^'\\]|\\.)*)'|\\(.)|([^ \t\r\n;|&'"\\$]+|\$|\\))`)

const (
	blank, end, comment, single, double, dollar, escaped, plain = 1, 2, 3, 4, 5, 6, 7, 8
)

// commands returns the commands of a script: lists of words, ended by line breaks, ";", "|" or "&".
// The second result is the word with an unclosed quote; nil if there is none.
func commands(text string) (all [][]word, open *word) {
	var current []word
	var w *word
	line, lineFrom := 1, 0
	for at := 0; at < len(text); {
		begins := w == nil
		if begins {
			w = &word{line: line, column: at - lineFrom + 1}
		}
		m := piece.FindStringSubmatchIndex(text[at:])
		if m == nil {
			return all, w
		}
		kind := plain
		for kind > 1 && m[2*kind] < 0 {
			kind--
		}
		part := text[at+m[2*kind] : at+m[2*kind+1]]
		if kind == comment && !begins {
			kind = plain
		}
		if kind > comment {
			w.add(kind, part)
		} else if !begins {
			current = append(current, *w)
		}
		if kind <= comment {
			w = nil
		}
		if kind == end && current != nil {
			all, current = append(all, current), nil
		}
		if n := strings.Count(text[at:at+m[1]], "\n"); n > 0 {
			line, lineFrom = line+n, at+strings.LastIndexByte(text[at:at+m[1]], '\n')+1
		}
		at += m[1]
	}
	if w != nil {
		current = append(current, *w)
	}
	if current != nil {
		all = append(all, current)
	}
	return all, nil
}

var inDouble = regexp.MustCompile("(?s)\\\\([\"\\\\$`\n])")

// add appends a part to a word.
func (w *word) add(kind int, part string) {
	switch kind {
	case double:
		w.variable = w.variable || strings.ContainsAny(inDouble.ReplaceAllString(part, ""), "$`")
		part = inDouble.ReplaceAllStringFunc(part, func(s string) string { return strings.TrimPrefix(s[1:], "\n") })
	case plain:
		w.variable = w.variable || part == "$"
	case dollar:
		part = unescaped(part)
	}
	w.text += part
}

// unescaped returns a text of the form $'…', which browsers use when they copy requests, as the shell
// reads it.
func unescaped(s string) string {
	var b strings.Builder
	for s != "" {
		r, multibyte, rest, err := strconv.UnquoteChar(s, '\'')
		switch {
		case err != nil && strings.HasPrefix(s, `\"`):
			r, rest = '"', s[2:]
		case err != nil && strings.HasPrefix(s, `\e`):
			r, rest = 0x1B, s[2:]
		case err != nil:
			r, rest = rune(s[0]), s[1:]
		}
		if s = rest; multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
	}
	return b.String()
}
