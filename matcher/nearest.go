package matcher

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// Near is a declared route that is like a request which nothing answered.
type Near struct {
	Index int    // into the routes given to Compile
	Why   string // why it did not answer, one sentence without a full stop
}

const (
	// nearMany is how many routes one search compares with the request.
	nearMany = 300
	// nearAlike is how many of them one segment's text may bring.
	nearAlike = 64
	// nearLongest is the longest segment, in bytes, in which a slip is looked for.
	nearLongest = 32
)

// Nearest returns the routes most like r, at most limit of them, the likest
// first, and why each does not answer it. It is for requests that nothing
// matched: it is slow, though its cost does not grow with the table.
func (t *Table) Nearest(r *Request, limit int) []Near {
	if r.parts().trimmed == nil || limit <= 0 {
		return nil
	}
	c := comparer{table: t, request: r}
	for i := range min(len(r.target.slashes), alignedMost) {
		c.segments = append(c.segments, r.segment(i))
	}
	var found []comparison
	for _, i := range t.candidates(r, c.segments) {
		if got := c.compare(int(i)); got.alike {
			found = append(found, got)
		}
	}
	slices.SortStableFunc(found, func(a, b comparison) int { return a.cost - b.cost })
	var out []Near
	for _, f := range found {
		if len(out) == limit {
			break
		}
		if why := c.why(f); why != "" {
			out = append(out, Near{Index: f.index, Why: why})
		}
	}
	r.params = r.params[:0]
	return out
}

// candidates returns the routes worth comparing, in the order declared: all of a
// small table; of a large one those whose shape fits and those that share a
// literal with the path, but for one slip.
func (t *Table) candidates(r *Request, segments [][]byte) []int32 {
	var found []int32
	if len(t.routes) <= nearMany {
		for i := range t.routes {
			found = append(found, int32(i))
		}
		return found
	}
	t.eachLeaf(r, func(l *leaf) {
		for _, e := range l.entries[:min(len(l.entries), nearAlike)] {
			found = append(found, int32(e.index))
		}
	})
	t.near.once.Do(func() { t.near.build(t.routes) })
	var lists [][]int32
	for _, text := range segments {
		var list []int32
		t.near.slips(string(text), func(key uint64) { list = append(list, t.near.routes[key]...) })
		lists = append(lists, list)
	}
	// What few routes share tells more than what many do ("api").
	slices.SortStableFunc(lists, func(a, b []int32) int { return len(a) - len(b) })
	for _, list := range lists {
		found = append(found, list...)
		slices.Sort(found)
		if found = slices.Compact(found); len(found) >= nearMany {
			break
		}
	}
	return found
}

// nearIndex finds routes by a literal of theirs or by one with a byte left out.
// Two texts that differ by one slip (a byte more, less, other, or two swapped) share one
// of these. It is built when first needed, since a good configuration never needs it.
type nearIndex struct {
	once   sync.Once
	seed   maphash.Seed
	routes map[uint64][]int32
}

func (x *nearIndex) build(routes []Route) {
	x.seed = maphash.MakeSeed()
	x.routes = map[uint64][]int32{}
	for i := range routes {
		for _, s := range routes[i].Pattern.segments {
			if s.kind != literalSegment {
				continue
			}
			x.slips(s.text, func(key uint64) {
				if list := x.routes[key]; len(list) < nearAlike {
					x.routes[key] = append(list, int32(i))
				}
			})
		}
	}
}

// slips calls f with the keys of text: of itself, without regard to case, and of
// itself without each of its bytes.
func (x *nearIndex) slips(text string, f func(key uint64)) {
	text = strings.ToLower(text)
	f(maphash.String(x.seed, text))
	if len(text) > nearLongest || len(text) < 2 {
		return
	}
	shorter := make([]byte, 0, nearLongest)
	for i := range len(text) {
		shorter = append(append(shorter[:0], text[:i]...), text[i+1:]...)
		f(maphash.Bytes(x.seed, shorter))
	}
}
