package curl

import (
	"strconv"
	"strings"
)

// word is a word of a command, as a shell passes it to the program.
type word struct {
	text         string
	line, column int
	variable     bool // it contains a shell variable, which is taken literally
}

// commands returns the commands of a script: lists of words, ended by line breaks, ";", "|" or "&".
// The second result is the word with an unclosed quote; nil if there is none.
func commands(text string) (all [][]word, open *word) {
	s := script{text: text, line: 1}
	var current []word
	for {
		s.blanks()
		if s.at == len(text) {
			break
		}
		switch c := text[s.at]; c {
		case '\n', ';', '|', '&':
			s.step()
			if len(current) > 0 {
				all = append(all, current)
			}
			current = nil
		case '#':
			for s.at < len(text) && text[s.at] != '\n' {
				s.step()
			}
		default:
			w, ended := s.word()
			if !ended {
				return all, &w
			}
			current = append(current, w)
		}
	}
	if len(current) > 0 {
		all = append(all, current)
	}
	return all, nil
}

// script is a text that is being read, and the current position in it.
type script struct {
	text     string
	at       int
	line     int
	lineFrom int // where the line begins
}

func (s *script) step() {
	if s.text[s.at] == '\n' {
		s.line++
		s.lineFrom = s.at + 1
	}
	s.at++
}

// blanks skips spaces, tabs, carriage returns and escaped line breaks.
func (s *script) blanks() {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			s.step()
		case strings.HasPrefix(rest, "\\\n"):
			s.step()
			s.step()
		case strings.HasPrefix(rest, "\\\r\n"), strings.HasPrefix(rest, "^\r\n"): // a caret escapes a line break on Windows
			s.step()
			s.step()
			s.step()
		default:
			return
		}
	}
}

// word returns the word that begins here, and whether its quotes are closed.
func (s *script) word() (w word, ended bool) {
	w.line, w.column = s.line, s.at-s.lineFrom+1
	var b strings.Builder
	for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n;|&", rune(s.text[s.at])) {
		c := s.text[s.at]
		switch {
		case c == '\'':
			ended = s.single(&b)
		case c == '"':
			ended = s.double(&b, &w)
		case strings.HasPrefix(s.text[s.at:], "$'"):
			s.step()
			ended = s.escaped(&b)
		case c == '\\' && s.at+1 < len(s.text):
			s.step()
			if s.text[s.at] != '\n' {
				b.WriteByte(s.text[s.at])
			}
			s.step()
			continue
		default:
			w.variable = w.variable || c == '$'
			b.WriteByte(c)
			s.step()
			continue
		}
		if !ended {
			return w, false
		}
	}
	w.text = b.String()
	return w, true
}

func (s *script) single(b *strings.Builder) bool {
	for s.step(); s.at < len(s.text); s.step() {
		if s.text[s.at] == '\'' {
			s.step()
			return true
		}
		b.WriteByte(s.text[s.at])
	}
	return false
}

func (s *script) double(b *strings.Builder, w *word) bool {
	for s.step(); s.at < len(s.text); s.step() {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.step()
			return true
		case c == '\\' && s.at+1 < len(s.text) && strings.IndexByte("\"\\$`\n", s.text[s.at+1]) >= 0:
			s.step()
			if s.text[s.at] != '\n' {
				b.WriteByte(s.text[s.at])
			}
		default:
			w.variable = w.variable || c == '$' || c == '`'
			b.WriteByte(c)
		}
	}
	return false
}

// simple contains the escapes in $'…' that consist of one character.
var simple = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'v': 11, 'e': 27}

// escaped reads a text of the form $'…', which browsers use when they copy requests, and reports
// whether the text is closed.
func (s *script) escaped(b *strings.Builder) bool {
	for s.step(); s.at < len(s.text); s.step() {
		c := s.text[s.at]
		if c == '\'' {
			s.step()
			return true
		}
		if c != '\\' || s.at+1 >= len(s.text) {
			b.WriteByte(c)
			continue
		}
		s.step()
		c = s.text[s.at]
		digits := map[byte]int{'u': 4, 'U': 8, 'x': 2}[c]
		end := min(len(s.text), s.at+1+digits)
		n, err := strconv.ParseUint(s.text[s.at+1:end], 16, 32)
		switch known, ok := simple[c]; {
		case digits > 0 && err == nil:
			if c == 'x' {
				b.WriteByte(byte(n))
			} else {
				b.WriteRune(rune(n))
			}
			s.at = end - 1
		case ok:
			b.WriteByte(known)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return false
}
