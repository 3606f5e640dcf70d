// Package nearest finds the endpoints most like a request that nothing matched, and says
// why each does not answer it.
//
// Each path has a mark: bits that stand for the pairs of letters in it. The endpoints whose
// marks differ least from the request's are then aligned with it, gaps and slips included.
package nearest

import (
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"strings"

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
	// markedRoutes is how many routes are compared with a request: the first ones.
	markedRoutes = 1 << 15
	// alignWork bounds what one request costs, in comparisons of letters.
	alignWork = 60_000
	// alignedMost is how many segments of a path are compared.
	alignedMost = 16
	// longestSlip is the longest segment, in bytes, in which a slip is looked for.
	longestSlip = 32
	// longestHost is how much of a host is compared, in bytes.
	longestHost = 253
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

// Index knows the marks of routes. It is immutable.
type Index struct {
	routes []matcher.Route
	marks  []mark
}

// New returns an index of routes, which must not change afterwards.
func New(routes []matcher.Route) *Index {
	x := &Index{routes, make([]mark, min(len(routes), markedRoutes))}
	for i := range x.marks {
		m := &x.marks[i]
		for j, segments := 0, routes[i].Pattern.Segments(); j < min(len(segments), alignedMost); j++ {
			if segments[j].IsLiteral() {
				m.add([]byte(segments[j].Text()))
			}
		}
		m.addWord([]byte(routes[i].Endpoint.EffectiveMethod()))
		if host := strings.TrimPrefix(strings.ToLower(routes[i].Endpoint.Host), "*"); host != "" {
			m.addWord([]byte(host))
		}
	}
	return x
}

// mark is a set of pairs of letters, some sharing a bit.
type mark [2]uint64

// add adds the pairs of letters of a segment, the slashes around it included. A letter is
// the same in both cases.
func (m *mark) add(segment []byte) {
	before := uint32('/')
	for _, b := range segment[:min(len(segment), 2*longestSlip)] {
		m.set(before<<8 | uint32(b|0x20))
		before = uint32(b | 0x20)
	}
	m.set(before<<8 | '/')
}

// addWord adds a method or a host as a whole.
func (m *mark) addWord(word []byte) { m.set(crc32.ChecksumIEEE(word)) }

// set sets the bit of a number.
func (m *mark) set(n uint32) {
	h := n * 0x9E3779B1 >> 25
	m[h>>6] |= 1 << (h & 63)
}

// markOf returns the mark of a request. It has the host as routes may declare it: whole,
// and what follows a wildcard.
func (c *comparer) markOf() (m mark) {
	for _, s := range c.segments {
		m.add(s)
	}
	m.addWord(c.request.Method())
	host := c.request.HostName()
	m.addWord(host)
	for i, b := range host[:min(len(host), longestHost)] {
		if b == '.' {
			m.addWord(host[i:])
		}
	}
	return m
}

// comparer compares routes with one request.
type comparer struct {
	request  *matcher.Request
	whole    [][]byte // all segments of the request
	segments [][]byte // those that are compared
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
func (x *Index) Find(r *matcher.Request, limit int) []Near {
	c := newComparer(r)
	if c == nil {
		return nil
	}
	var out []Near
	for _, l := range c.likest(x) {
		if len(out) == limit {
			break
		}
		if why := c.why(&x.routes[l.index]); why != "" {
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
	return &comparer{request: r, whole: segments, segments: segments[:min(len(segments), alignedMost)]}
}

// costs is about what m costs a request with the mark asked: what the request lacks, and
// half as much what it has in addition, which may stand for parameters.
func (m *mark) costs(asked *mark) (cost int) {
	for i, set := range m {
		cost += 2*bits.OnesCount64(set&^asked[i]) + bits.OnesCount64(asked[i]&^set)
	}
	return cost
}

// likeness is what the differences between a route and a request cost.
type likeness struct{ index, cost int }

// likest returns the routes that have something in common with the request, the likest
// first.
func (c *comparer) likest(x *Index) []likeness {
	var best []likeness
	worst := math.MaxInt
	asked := c.markOf()
	for i := range x.marks {
		cost := x.marks[i].costs(&asked)
		if cost >= worst {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, cost+1, func(l likeness, cost int) int { return l.cost - cost })
		best = slices.Insert(best[:min(len(best), alignedRoutes-1)], at, likeness{i, cost})
		if len(best) == alignedRoutes {
			worst = best[alignedRoutes-1].cost
		}
	}
	found := best[:0]
	for _, l := range best {
		if cost, alike := c.compare(&x.routes[l.index]); alike {
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
