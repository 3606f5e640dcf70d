package matcher

import (
	"math/bits"

	"mockserver/internal/wording"
)

// alignedMost is how many segments of a path are compared.
const alignedMost = 16

// What a difference between a route and a request costs. A segment that is
// altogether different costs less than one missing and one more.
const (
	costCase      = 1
	costType      = 1
	costOther     = 1 // another method, another host
	costSlip      = 2
	costGap       = 3
	costDifferent = 5
)

// slipReach is how many segments from its place a segment is looked for that has
// slips: a row of more gaps than that is nothing anyone writes by mistake.
const slipReach = 3

// comparer compares routes with one request.
type comparer struct {
	table    *Table
	request  *Request
	segments [][]byte // of the request
	letters  []uint64 // of each of them
	accepted []uint16 // of each of them, the types asked so far: a bit for known, a bit for accepted
	work     int      // done so far; see nearWork

	route *Route
	all   []segment // of the route, without a catch-all
	rest  bool
	// head and tail are how many segments at the beginning and at the end fit. The
	// best alignment pairs them, whatever is between: leaving a segment out that
	// fits never costs less.
	head, tail int
	// n declared segments and m of the request are between head and tail.
	n, m int
	// pairs[i][j] is the cost of the declared segment head+i standing for the
	// request's head+j; costs[i][j] the least cost of aligning all from there on.
	pairs, costs [alignedMost + 1][alignedMost + 1]int16
}

// newComparer returns a comparer for r, whose target is cut, and a path.
func newComparer(t *Table, r *Request) *comparer {
	c := &comparer{table: t, request: r}
	for i := range min(len(r.target.slashes), alignedMost) {
		text := r.segment(i)
		c.segments = append(c.segments, text)
		c.letters = append(c.letters, lettersOf(text))
	}
	c.accepted = make([]uint16, len(c.segments))
	return c
}

// take begins with a route: it finds head and tail.
func (c *comparer) take(index int) {
	c.route = &c.table.routes[index]
	p := &c.route.Pattern
	c.all, c.rest = p.segments, p.catchesAll()
	if c.rest {
		c.all = c.all[:len(c.all)-1]
	}
	c.all = c.all[:min(len(c.all), alignedMost)]
	c.head, c.tail = 0, 0
	c.n, c.m = len(c.all), len(c.segments)
	for c.n > 0 && c.m > 0 && c.fits(&c.all[c.head], c.head) {
		c.head, c.n, c.m = c.head+1, c.n-1, c.m-1
	}
	for !c.rest && c.n > 0 && c.m > 0 && c.fits(&c.all[c.head+c.n-1], c.head+c.m-1) {
		c.tail, c.n, c.m = c.tail+1, c.n-1, c.m-1
	}
	c.work += c.head + c.tail + 1
}

// fits tells whether the request's segment j is what s declares.
func (c *comparer) fits(s *segment, j int) bool {
	text := c.segments[j]
	if s.kind == literalSegment {
		return s.text == string(text)
	}
	if s.typ == anyText || len(text) == 0 {
		return len(text) > 0
	}
	if s.mixed != nil {
		return s.accepts(text)
	}
	// Remembered, since a segment may be long and the routes many.
	known, yes := uint16(1)<<s.typ, uint16(1)<<(s.typ+8)
	if c.accepted[j]&known == 0 {
		c.accepted[j] |= known
		if s.typ.accepts(text) {
			c.accepted[j] |= yes
		}
	}
	return c.accepted[j]&yes != 0
}

// align fills in pairs and costs for the route taken.
func (c *comparer) align() {
	var letters [alignedMost]uint64
	for i := range c.n {
		if s := &c.all[c.head+i]; s.kind == literalSegment {
			letters[i] = lettersOf([]byte(s.text))
		}
	}
	for i := c.n; i >= 0; i-- {
		for j := c.m; j >= 0; j-- {
			if i < c.n && j < c.m {
				c.pairs[i][j] = int16(c.pairCost(i, j, letters[i]))
			}
			_, cost := c.cheapest(i, j)
			c.costs[i][j] = int16(cost)
		}
	}
	c.work += (c.n + 1) * (c.m + 1)
}

// pairCost is the cost of the declared segment head+i, which has these letters,
// standing for the request's head+j.
func (c *comparer) pairCost(i, j int, letters uint64) int {
	s, text := &c.all[c.head+i], c.segments[c.head+j]
	switch {
	case c.fits(s, c.head+j):
		return 0
	case s.kind != literalSegment:
		return costType
	case len(s.text) == len(text) && equalFold(text, s.text):
		return costCase
	case i-j > slipReach+max(c.n-c.m, 0) || j-i > slipReach+max(c.m-c.n, 0) || c.work > nearWork:
		return costDifferent
	}
	most := mostSlips(len(s.text), len(text))
	if most == 0 || apart(letters, c.letters[c.head+j]) > most {
		return costDifferent
	}
	c.work += len(text) * (2*most + 1)
	if slips := wording.Distance(s.text, string(text), most+1); slips <= most {
		return slips * costSlip
	}
	return costDifferent
}

// mostSlips is how many slips make a text of so many bytes of a declared literal
// at most; with more it is another word.
func mostSlips(declared, text int) int {
	long := max(declared, text)
	if long > nearLongest {
		return 0
	}
	return min(long/3, 2)
}

// lettersOf has a bit for every byte in the beginning of text, some sharing one;
// a letter has the same bit in both cases.
func lettersOf(text []byte) uint64 {
	var set uint64
	for _, b := range text[:min(len(text), nearLongest+1)] {
		set |= 1 << (lower(b) & 63)
	}
	return set
}

// apart is how many slips there are at least between texts with these letters:
// a slip takes one letter away at most, and brings one.
func apart(a, b uint64) int { return max(bits.OnesCount64(a&^b), bits.OnesCount64(b&^a)) }

// step is one step of an alignment.
type step uint8

const (
	endStep       step = iota
	pairStep           // a declared segment with one of the request that is like it
	differentStep      // a declared segment with one that is not
	missingStep        // a declared segment that the request lacks
	extraStep          // a segment of the request that is not declared
	restStep           // a segment of the request that the catch-all takes
)

// cheapest is the best step from i, j, when the costs after it are known.
func (c *comparer) cheapest(i, j int) (step, int) {
	switch {
	case i == c.n && j == c.m:
		return endStep, 0
	case i == c.n && c.rest:
		return restStep, 0
	case i == c.n:
		return extraStep, int(c.costs[i][j+1]) + costGap
	case j == c.m:
		return missingStep, int(c.costs[i+1][j]) + costGap
	}
	best, pair := pairStep, int(c.pairs[i][j])
	if pair == costDifferent {
		best = differentStep
	}
	cost := pair + int(c.costs[i+1][j+1])
	if missing := int(c.costs[i+1][j]) + costGap; missing < cost {
		best, cost = missingStep, missing
	}
	if extra := int(c.costs[i][j+1]) + costGap; extra < cost {
		best, cost = extraStep, extra
	}
	return best, cost
}

// walk calls f with the steps of the best alignment, from the left, and where
// they are in the route and in the request.
func (c *comparer) walk(f func(s step, i, j int)) {
	for i := range c.head {
		f(pairStep, i, i)
	}
	i, j := 0, 0
	for {
		s, _ := c.cheapest(i, j)
		if s == endStep || s == restStep {
			break
		}
		f(s, c.head+i, c.head+j)
		if s != extraStep {
			i++
		}
		if s != missingStep {
			j++
		}
	}
	for k := range c.tail {
		f(pairStep, c.head+c.n+k, c.head+c.m+k)
	}
}

// likeness is how like a request a route is.
type likeness struct {
	index int
	least int // no alignment costs less
	guess int // what it may cost, for the order
	cost  int // what it costs
}

// estimate tells what a route costs at least, and what it may, with little work.
func (c *comparer) estimate(index int) likeness {
	c.take(index)
	gaps := c.n - c.m
	switch {
	case gaps < 0 && c.rest:
		gaps = 0
	case gaps < 0:
		gaps = -gaps
	}
	other := c.otherCost()
	l := likeness{index: index, least: other + gaps*costGap}
	l.guess = l.least
	switch both := min(c.n, c.m); {
	case both == 1 && c.n == c.m && !c.rest: // by far the most frequent
		l.least += c.pairCost(0, 0, lettersOf([]byte(c.all[c.head].text)))
		l.guess = l.least
	case both > 0:
		if gaps == 0 {
			l.least++
		}
		for k := range both {
			l.guess += c.guess(k)
		}
	}
	return l
}

// guess is about what the declared segment head+k costs in its own place.
func (c *comparer) guess(k int) int {
	c.work += 2
	s := &c.all[c.head+k]
	switch {
	case c.fits(s, c.head+k):
		return 0
	case s.kind != literalSegment:
		return costType
	case apart(lettersOf([]byte(s.text)), c.letters[c.head+k]) > mostSlips(len(s.text), len(c.segments[c.head+k])):
		return costDifferent
	}
	return costSlip
}

// otherCost is what method and host of the route taken cost.
func (c *comparer) otherCost() int {
	cost := 0
	e := c.route.Endpoint
	if e.EffectiveMethod() != string(c.request.Method()) {
		cost += costOther
	}
	if !hostCovers(e.Host, c.request.hostName()) {
		cost += costOther
	}
	return cost
}

// compare aligns the segments of a route with the request's. It returns false for
// a route that has too little in common with the request to be worth telling.
func (c *comparer) compare(l *likeness) bool {
	c.take(l.index)
	c.align()
	l.cost = int(c.costs[0][0])
	alike := l.cost <= costType
	c.walk(func(s step, i, _ int) {
		if s == pairStep && c.all[i].kind == literalSegment {
			alike = true
		}
	})
	l.cost += c.otherCost()
	return alike
}
