package config

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// label is a name as key paths and messages show it: clipped, and in quotes where
// it is empty or holds what cannot be shown, so that a mistake is one line.
func label(name string) string {
	name = clip(name)
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// clip shortens what a message quotes from a file.
func clip(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
