package matcher

import (
	"slices"
	"strings"
)

const (
	// nearAlike is how many routes one text stands for, and how far around a text
	// others are looked at.
	nearAlike = 64
	// nearLongest is the longest segment, in bytes, in which a slip is looked for.
	nearLongest = 32
)

// nearIndex finds routes by literals that are like a text. A slip leaves most of a
// text's beginning or of its end as it was, so in one of two orders, by the
// texts and by the texts read backwards, the text meant stands near the one asked.
type nearIndex struct {
	forward, backward []nearText
}

// nearText is a literal of a route, in lower case.
type nearText struct {
	text  string
	route int32
}

// newNearIndex indexes routes. It belongs to compiling, so that no request pays.
func newNearIndex(routes []Route) *nearIndex {
	x := new(nearIndex)
	many := map[string]int{}
	for i := range routes {
		for _, s := range routes[i].Pattern.segments {
			if s.kind != literalSegment || many[s.text] == nearAlike {
				continue
			}
			many[s.text]++
			x.forward = append(x.forward, nearText{strings.ToLower(s.text), int32(i)})
		}
	}
	x.backward = slices.Clone(x.forward)
	slices.SortFunc(x.forward, func(a, b nearText) int { return orElse(strings.Compare(a.text, b.text), a, b) })
	slices.SortFunc(x.backward, func(a, b nearText) int { return orElse(compareBackward(a.text, b.text), a, b) })
	return x
}

// orElse is order, or that of the routes when it is none.
func orElse(order int, a, b nearText) int {
	if order != 0 {
		return order
	}
	return int(a.route) - int(b.route)
}

// compareBackward compares texts from their ends.
func compareBackward(a, b string) int {
	for i, j := len(a)-1, len(b)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
	}
	return len(a) - len(b)
}

// alike returns routes with a literal that may be text but for slips, the
// likest first in either order; some of them twice.
func (x *nearIndex) alike(text []byte) []int32 {
	asked := strings.ToLower(string(text))
	list := around(nil, x.forward, asked, strings.Compare)
	return around(list, x.backward, asked, compareBackward)
}

// around appends the routes of the texts that stand around text in their order,
// and may be it but for slips.
func around(list []int32, texts []nearText, text string, compare func(a, b string) int) []int32 {
	at, _ := slices.BinarySearchFunc(texts, text, func(t nearText, text string) int { return compare(t.text, text) })
	letters := lettersOf([]byte(text))
	for k := range nearAlike {
		for _, i := range [...]int{at + k, at - 1 - k} {
			if i >= 0 && i < len(texts) && mayBe(texts[i].text, text, letters) {
				list = append(list, texts[i].route)
			}
		}
	}
	return list
}

// mayBe tells whether a literal may be text, which has these letters, but for slips.
func mayBe(declared, text string, letters uint64) bool {
	most := mostSlips(len(declared), len(text))
	if most == 0 {
		return declared == text
	}
	return len(declared)-len(text) <= most && len(text)-len(declared) <= most &&
		apart(lettersOf([]byte(declared)), letters) <= most
}
