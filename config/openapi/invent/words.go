package invent

import (
	"math/rand/v2"
	"strings"
	"unicode"

	"mockserver/config/openapi/text"
)

// Word returns a random word without a particular meaning.
func Word(r *rand.Rand) string { return pick(r, "words") }

// Words returns words with a total length between low and high, or letters if low is 0.
func Words(r *rand.Rand, low, high int) string {
	if low == 0 {
		return text.Letters(r, min(high, 1+r.IntN(text.ReadableLength)))
	}
	b := []byte(Word(r))
	for len(b) < low {
		b = append(append(b, ' '), Word(r)...)
	}
	if len(b) > high {
		b = b[:high]
		b[high-1] = 'a' // no space at the end
	}
	return string(b)
}

// pick returns a text of a list.
func pick(r *rand.Rand, list string) string {
	from := known().Lists[list]
	return from[r.IntN(len(from))]
}

// nameWords returns the words of firstName, first_name, first-name and FIRST_NAME, in lower case.
func nameWords(name string) []string {
	var split []string
	start, lower := 0, false
	for i, c := range name {
		switch {
		case c == '_' || c == '-' || c == '.' || c == ' ':
			split = appendWord(split, name[start:i])
			start = i + 1
		case lower && unicode.IsUpper(c):
			split = appendWord(split, name[start:i])
			start = i
		}
		lower = unicode.IsLower(c) || unicode.IsDigit(c)
	}
	return appendWord(split, name[start:])
}

// plainName returns a name in lower case, without the separators of its words.
func plainName(name string) string { return strings.Join(nameWords(name), "") }

func appendWord(split []string, word string) []string {
	if word == "" {
		return split
	}
	return append(split, strings.ToLower(word))
}
