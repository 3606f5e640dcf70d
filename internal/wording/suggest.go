// Package wording provides the words and forms that messages share: similar spellings, lists of
// expected words, quoted names, and counts.
package wording

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns the part of a message that suggests the nearest of the accepted words: ` (did
// you mean "status"?)`, or "" if no word is near.
func DidYouMean(word string, accepted []string) string {
	if near := Nearest(word, accepted); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// ByReplica is the hint for the names of keys, flags and functions with which replicas once counted together.
const ByReplica = " (each replica counts by itself: divide a limit by the number of replicas, and begin numbers with the" +
	" name of the replica; see docs/fleet.md)"

// Nearest returns the accepted word with the fewest edits from word, the first of those that are Near;
// "" if there is none.
func Nearest(word string, accepted []string) string {
	if near := Near(word, accepted); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near returns the accepted words with few edits from word, the fewest first: at most two, or a third
// of the length of word if that is more, but only one if it has up to four letters, and fewer than
// either word has letters.
func Near(word string, accepted []string) []string {
	const longest = 64 // a longer word is not a typo
	if len(word) > longest {
		return nil
	}
	word = strings.ToLower(word)
	limit := max(2, len(word)/3) + 1
	if len(word) <= 4 { // GET is not a misspelt "not"
		limit = 2
	}
	edits := func(candidate string) int { return Distance(word, strings.ToLower(candidate), limit) }
	near := slices.DeleteFunc(slices.Clone(accepted), func(candidate string) bool {
		return edits(candidate) >= min(limit, len(word), len(candidate))
	})
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(edits(a), edits(b)) })
	return near
}

// distanceMost is how many bytes of a text Distance compares.
const distanceMost = 64

// Distance returns how many bytes must be inserted, deleted, replaced or swapped with their
// neighbors to turn a into b; the result is at most limit. It compares the first 64 bytes of each
// text. The smaller the limit, the lower the cost.
func Distance(a, b string, limit int) int {
	a, b = a[:min(len(a), distanceMost)], b[:min(len(b), distanceMost)]
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	limit = min(limit, distanceMost+1)
	if limit <= 0 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return max(limit, 0)
	}
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	return banded(a, b, limit)
}

// banded computes Distance row by row in the usual table. Only the cells nearer than limit to the
// diagonal can be below the limit.
func banded(a, b string, limit int) int {
	var rows [3][distanceMost + 2]int8 // for the prefix of a before the last one, the last one, and the current one
	for j := range min(len(b), limit) + 1 {
		rows[1][j] = int8(j)
	}
	for i := range len(a) {
		older, last, now := &rows[i%3], &rows[(i+1)%3], &rows[(i+2)%3]
		from, to := max(0, i-limit+1), min(len(b), i+limit)
		now[from] = int8(min(i+1-from, limit))
		least := now[from]
		for j := from; j < to; j++ {
			d := last[j]
			if a[i] != b[j] {
				d = min(d, last[j+1], now[j]) + 1
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, older[j-1]+1)
			}
			now[j+1] = d
			least = min(least, d)
		}
		if int(least) >= limit {
			return limit
		}
		now[to+1] = int8(limit) // the next row looks one cell further
	}
	return min(limit, int(rows[(len(a)+1)%3][len(b)]))
}

// OneOf lists accepted words: "GET", "GET or POST", "one of GET, POST, PUT".
func OneOf(words []string) string {
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
