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
func Clip(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// Bounded truncates a message from another source, which may contain text that a client sent.
func Bounded(message string) string {
	const longest = 200
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest], "") + "…"
}
