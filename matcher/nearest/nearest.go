// Package nearest finds the endpoints most like a request that nothing matched, and says
// why each does not answer it.
//
// All endpoints are compared with the request roughly, segment by segment in their places.
// Those that promise most are then aligned with it, gaps and slips included.
package nearest

import (
	"math/bits"
	"slices"

	"mockserver/matcher"
)

// Near is a declared route that is like a request.
type Near struct {
	Index int    // into the routes
	Why   string // why it did not answer, one sentence without a full stop
}

const (
	// alignedRoutes is how many routes are aligned with a request.
	alignedRoutes = 64
	// scanWork and alignWork bound what one request costs, in comparisons of some
	// nanoseconds: those of segments, and those of letters. Of a larger table only the
	// first routes are compared: some 10,000 whose paths have four segments.
	scanWork, alignWork = 40_000, 60_000
	// alignedMost is how many segments of a path are compared.
	alignedMost = 16
	// longestSlip is the longest segment, in bytes, in which a slip is looked for.
	longestSlip = 32
)

// What a difference between a route and a request costs. A segment that is altogether
// different costs less than one missing and one more.
const (
	costCase      = 1
	costType      = 1
	costOther     = 1 // another method, another host
	costSlip      = 2
	costGap       = 3
	costDifferent = 5
)

// comparer compares routes with one request.
type comparer struct {
	request  *matcher.Request
	whole    [][]byte // all segments of the request
	segments [][]byte // those that are compared
	letters  []uint64 // of each of them
	work     int      // done so far

	route    *matcher.Route
	declared []matcher.Segment // of the route, without a catch-all
	rest     bool
	// head and tail are how many segments at the beginning and at the end fit: the best
	// alignment pairs them. n declared segments and m of the request are in between.
	head, tail, n, m int
}

// Find returns the routes most like r, at most limit of them, the likest first. It is for
// requests that nothing matched. Conditions are not asked again, since they may count, or
// draw a random number. The cost is bounded, whatever the routes and the request.
func Find(routes []matcher.Route, r *matcher.Request, limit int) []Near {
	c := newComparer(r)
	if c == nil {
		return nil
	}
	var out []Near
	for _, l := range c.likest(routes) {
		if len(out) == limit {
			break
		}
		if why := c.why(&routes[l.index]); why != "" {
			out = append(out, Near{Index: l.index, Why: why})
		}
	}
	return out
}

// newComparer returns nil for a target that is no path.
func newComparer(r *matcher.Request) *comparer {
	segments, ok := r.Segments()
	if !ok {
		return nil
	}
	c := &comparer{request: r, whole: segments, segments: segments[:min(len(segments), alignedMost)]}
	for _, text := range c.segments {
		c.letters = append(c.letters, lettersOf(text))
	}
	return c
}

// likeness is what the differences between a route and a request cost.
type likeness struct{ index, cost int }

// likest returns the routes that have something in common with the request, the likest
// first.
func (c *comparer) likest(routes []matcher.Route) []likeness {
	var best []likeness
	for i := range routes {
		cost := c.guess(&routes[i])
		if len(best) == alignedRoutes && cost >= best[len(best)-1].cost {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, cost+1, func(l likeness, cost int) int { return l.cost - cost })
		best = slices.Insert(best[:min(len(best), alignedRoutes-1)], at, likeness{i, cost})
		if c.work > scanWork {
			break
		}
	}
	c.work = 0
	found := best[:0]
	for _, l := range best {
		if cost, alike := c.compare(&routes[l.index]); alike {
			found = append(found, likeness{l.index, cost})
		}
	}
	slices.SortStableFunc(found, func(a, b likeness) int { return a.cost - b.cost })
	return found
}

// take begins with a route: it finds head and tail.
func (c *comparer) take(route *matcher.Route) {
	c.route, c.declared, c.rest = route, route.Pattern.Segments(), false
	if n := len(c.declared); n > 0 && c.declared[n-1].CatchesAll() {
		c.declared, c.rest = c.declared[:n-1], true
	}
	c.declared = c.declared[:min(len(c.declared), alignedMost)]
	c.head, c.tail = 0, 0
	c.n, c.m = len(c.declared), len(c.segments)
	for c.n > 0 && c.m > 0 && c.fits(c.head, c.head) {
		c.head, c.n, c.m = c.head+1, c.n-1, c.m-1
	}
	for !c.rest && c.n > 0 && c.m > 0 && c.n+c.m > 2 && c.fits(c.head+c.n-1, c.head+c.m-1) {
		c.tail, c.n, c.m = c.tail+1, c.n-1, c.m-1
	}
}

// fits reports whether segment j of the request is what segment i of the route declares.
func (c *comparer) fits(i, j int) bool {
	c.work += 1 + len(c.segments[j])/64
	return c.declared[i].Accepts(c.segments[j])
}

// guess is about what the differences between a route and the request cost. Segments in
// between head and tail are compared in their places, from either end.
func (c *comparer) guess(route *matcher.Route) int {
	c.take(route)
	both := min(c.n, c.m)
	cost := c.inPlace(c.head, c.head, both)
	if c.n != c.m && !c.rest {
		cost = min(cost, c.inPlace(c.head+c.n-both, c.head+c.m-both, both))
	}
	if c.n > c.m || !c.rest {
		cost += costGap * (c.n + c.m - 2*both)
	}
	return cost + c.otherCost()
}

// inPlace is about what n declared segments from i on cost, each standing for one of the
// request from j on.
func (c *comparer) inPlace(i, j, n int) int {
	cost := 0
	for ; n > 0; i, j, n = i+1, j+1, n-1 {
		switch s := &c.declared[i]; {
		case c.fits(i, j):
		case !s.IsLiteral():
			cost += costType
		default:
			cost += c.slips(s.Text(), j)
		}
	}
	return cost
}

// slips is about what a literal costs that is not segment j of the request: one slip
// leaves all but two letters of the longer text as they are, at its beginning or its end.
func (c *comparer) slips(literal string, j int) int {
	text := c.segments[j]
	c.work += len(text) / 8
	if most := mostSlips(len(literal), len(text)); most == 0 || apart(lettersOf(literal), c.letters[j]) > most {
		return costDifferent
	}
	begin, end, short := 0, 0, min(len(literal), len(text))
	for begin < short && literal[begin]|0x20 == text[begin]|0x20 {
		begin++
	}
	for end < short-begin && literal[len(literal)-1-end]|0x20 == text[len(text)-1-end]|0x20 {
		end++
	}
	switch changed := max(len(literal), len(text)) - begin - end; {
	case changed == 0:
		return costCase
	case changed <= 2:
		return costSlip
	}
	return 2 * costSlip
}

// otherCost is what method and host of the route cost.
func (c *comparer) otherCost() int {
	cost := 0
	if c.route.Endpoint.EffectiveMethod() != string(c.request.Method()) {
		cost += costOther
	}
	if !matcher.HostCovers(c.route.Endpoint.Host, c.request.HostName()) {
		cost += costOther
	}
	return cost
}

// mostSlips is how many slips make a text of so many bytes of a declared literal at most;
// with more it is another word.
func mostSlips(declared, text int) int {
	long := max(declared, text)
	if long > longestSlip {
		return 0
	}
	return min(long/3, 2)
}

// lettersOf has a bit for every byte in the beginning of text, some sharing one; a letter
// has the same bit in both cases.
func lettersOf[T string | []byte](text T) uint64 {
	var set uint64
	for i := range min(len(text), longestSlip+1) {
		set |= 1 << ((text[i] | 0x20) & 63)
	}
	return set
}

// apart is how many slips there are at least between texts with these letters: a slip
// takes one letter away at most, and brings one.
func apart(a, b uint64) int { return max(bits.OnesCount64(a&^b), bits.OnesCount64(b&^a)) }
