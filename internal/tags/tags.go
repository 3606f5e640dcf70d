// Package tags finds the tags of the template language, {{ … }} and {% … %}, in a text. What
// stands inside them belongs to package renderer.
package tags

import "strings"

// Start returns where the first tag of s begins, or the length of s.
func Start(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%') {
			return i
		}
	}
	return len(s)
}

// Next returns where the first tag of s begins and where what follows it does.
// Quoted texts inside a tag may hold what would close it. Both are the length of
// s where there is no tag, or where it is not closed.
func Next(s string) (begin, end int) {
	begin = Start(s)
	if begin == len(s) {
		return begin, begin
	}
	closing := "}}"
	if s[begin+1] == '%' {
		closing = "%}"
	}
	quote := byte(0)
	for i := begin + 2; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(s[i:], closing):
			return begin, i + len(closing)
		}
	}
	return len(s), len(s)
}

// RawEnd returns where the {% endraw %} of a raw block begins, or the length of s:
// what is before it is text, whatever it looks like.
func RawEnd(s string) int {
	for at := 0; ; at += 2 {
		next := strings.Index(s[at:], "{%")
		if next < 0 {
			return len(s)
		}
		at += next
		inside, _, closed := strings.Cut(s[at+2:], "%}")
		if !closed {
			return len(s)
		}
		if strings.TrimSpace(inside) == "endraw" {
			return at
		}
	}
}

// In reports whether a text is a template rather than fixed.
func In(s string) bool { return Start(s) < len(s) }

// Word returns the trimmed inside of a {% … %} tag, "" for any other.
func Word(tag string) string {
	inside, ok := strings.CutPrefix(tag, "{%")
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(inside, "%}"))
}
