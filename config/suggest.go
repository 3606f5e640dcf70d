package config

import (
	"fmt"
	"strings"
)

// DidYouMean is the part of a message that offers the nearest of the accepted
// words: ` (did you mean "status"?)`, or "" where none is near.
func DidYouMean(word string, accepted []string) string {
	if near := nearest(word, accepted); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// nearest returns the accepted word that is fewest edits away from word: two at
// most, or a third of its length, and fewer than it has letters. "" for none.
func nearest(word string, accepted []string) string {
	const longest = 64 // what is longer is no slip of the fingers
	if len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", max(2, len(word)/3)+1
	for _, candidate := range accepted {
		d := distance(word, strings.ToLower(candidate))
		if d < least && d < len(word) && d < len(candidate) {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two words, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// oneOf lists accepted words: "GET", "GET or POST", "one of GET, POST, PUT".
func oneOf(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	case 2:
		return words[0] + " or " + words[1]
	}
	return "one of " + strings.Join(words, ", ")
}
