// Package tags finds the tags of the template language, {{ … }} and {% … %}, in a text. Package
// renderer parses their content.
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

// Next returns where the first tag of s begins and ends. Quoted texts inside a tag may contain the
// characters that otherwise close it. Both results are the length of s if there is no tag, or if it
// is not closed.
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

// RawEnd returns where the {% endraw %} of a raw block begins, or the length of s: everything
// before it is text, whatever it looks like.
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

// In reports whether a text contains a tag, and so is a template.
func In(s string) bool { return Start(s) < len(s) }

// Word returns the trimmed content of a {% … %} tag; "" for any other tag.
func Word(tag string) string {
	inside, ok := strings.CutPrefix(tag, "{%")
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(inside, "%}"))
}

// LooksJSON reports whether a text begins like a JSON object or array, after any block tags. raw means that it has no
// tags.
func LooksJSON(text string, raw bool) bool {
	s := strings.TrimLeft(text, " \t\r\n")
	for !raw && (strings.HasPrefix(s, "{%") || strings.HasPrefix(s, "{{#")) {
		_, end := Next(s)
		s = strings.TrimLeft(s[end:], " \t\r\n")
	}
	if !raw && strings.HasPrefix(s, "{{") {
		return false // a placeholder, not an object
	}
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")
}
