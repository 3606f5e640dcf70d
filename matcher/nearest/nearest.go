// Package nearest finds the endpoints that are most similar to an unmatched request, and explains
// why each of them does not answer it.
//
// Each path has a mark: bits that represent the pairs of letters in it. The endpoints whose marks
// differ least from the request's mark are then aligned with the request, allowing for missing and
// extra segments and for misspellings.
package nearest

import (
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/matcher"
)

// Near is a declared route that is similar to a request.
type Near struct {
	Index int    // index into the routes
	Name  string // what it is called in responses; Find leaves it empty
	Why   string // why it did not answer: one sentence without a full stop
}

// String returns the name with the reason.
func (n Near) String() string { return n.Name + " (" + n.Why + ")" }

const (
	// alignedRoutes is how many routes are aligned with a request.
	alignedRoutes = 64
	// markedRoutes is how many routes, counted from the first, are compared by their marks.
	markedRoutes = 1 << 15
	// alignWork limits the work for one request, in comparisons of letters.
	alignWork = 60_000
	// alignedMost is the maximum number of segments of a path that are compared.
	alignedMost = 16
	// longestSlip is the longest segment, in bytes, that is checked for misspellings.
	longestSlip = 32
	// longestHost is how much of a host is compared, in bytes.
	longestHost = 253
)

// The costs of differences between a route and a request. A segment that is completely different
// costs less than a missing and an extra one together.
const (
	costCase      = 1
	costType      = 1
	costOther     = 1 // a different method, a different host
	costSlip      = 2
	costGap       = 3
	costDifferent = 5
)

// Index contains the marks of routes. It is immutable.
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

// mark is a set of pairs of letters; several pairs may share a bit.
type mark [2]uint64

// add adds the pairs of letters of a segment, including the slashes around it, ignoring case.
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

// set sets the bit for a number.
func (m *mark) set(n uint32) {
	h := n * 0x9E3779B1 >> 25
	m[h>>6] |= 1 << (h & 63)
}

// markOf returns the mark of a request. It contains the host in the forms that routes may declare:
// the whole host, and each suffix that may follow a wildcard.
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
	segments [][]byte // the segments that are compared
	work     int      // work done so far

	route    *matcher.Route
	declared []matcher.Segment // segments of the route, without a catch-all
	rest     bool
	// head and tail are how many segments fit at the beginning and at the end: the best alignment
	// pairs them. Between them are n declared segments and m segments of the request.
	head, tail, n, m int
}

// Find returns the routes most similar to r, at most limit of them, the most similar first. It is
// for unmatched requests. Conditions are not evaluated again, since they may count or draw a random
// number. The cost is bounded for any routes and any request.
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

// newComparer returns a comparer for a request; nil if its target is not a path.
func newComparer(r *matcher.Request) *comparer {
	segments, ok := r.Segments()
	if !ok {
		return nil
	}
	return &comparer{request: r, whole: segments, segments: segments[:min(len(segments), alignedMost)]}
}

// costs estimates the cost of a route with the mark m for a request with the mark asked. Bits
// missing from the request count fully, extra bits count half, since they may belong to parameters.
func (m *mark) costs(wanted *mark) (cost int) {
	for i, set := range m {
		cost += 2*bits.OnesCount64(set&^wanted[i]) + bits.OnesCount64(wanted[i]&^set)
	}
	return cost
}

// likeness is a route with the cost of its differences from a request.
type likeness struct{ index, cost int }

// likest returns the routes that have something in common with the request, the most similar first.
func (c *comparer) likest(x *Index) []likeness {
	var best []likeness
	worst := math.MaxInt
	wanted := c.markOf()
	for i := range x.marks {
		cost := x.marks[i].costs(&wanted)
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

// take starts the comparison with a route: it finds head and tail.
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

// fits reports whether segment j of the request matches segment i of the route.
func (c *comparer) fits(i, j int) bool {
	c.work += 1 + len(c.segments[j])/64
	return c.declared[i].Accepts(c.segments[j])
}

// otherCost returns the cost of the differences in method and host.
func (c *comparer) otherCost() int {
	cost := 0
	if m := c.route.Endpoint.EffectiveMethod(); m != string(c.request.Method()) && m != item.MethodAny {
		cost += costOther
	}
	if !matcher.HostCovers(c.route.Endpoint.Host, c.request.HostName()) {
		cost += costOther
	}
	return cost
}

// mostSlips returns how many letters of a declared literal may be wrong in a text, given their
// lengths in bytes. With more wrong letters, the text counts as a different word.
func mostSlips(declared, text int) int {
	long := max(declared, text)
	if long > longestSlip {
		return 0
	}
	return min(long/3, 2)
}
