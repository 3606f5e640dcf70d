package wording

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label is a name as key paths and messages show it: clipped, and in quotes where
// it is empty or holds what cannot be shown, so that a mistake is one line.
func Label(name string) string {
	name = Clip(name)
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// Clip shortens what a message quotes from a file.
func Clip(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
