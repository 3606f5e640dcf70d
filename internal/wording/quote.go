package wording

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label returns a name as key paths and messages show it: truncated, and in quotes if it is empty
// or contains unprintable characters, so that an error is one line.
func Label(name string) string {
	name = Clip(name)
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// Clip truncates a text that a message quotes from a file.
func Clip(text string) string { return Truncate(text, 60) }

// Bounded truncates a message from another source, which may contain text that a client sent.
func Bounded(message string) string { return Truncate(message, 200) }

// Truncate truncates a text after a number of bytes, and marks the place with an ellipsis.
func Truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
