package matcher

import (
	"fmt"
	"strings"
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

// comparison is how like a request a route is.
type comparison struct {
	index int
	cost  int
	alike bool // enough to be worth telling
}

// comparer compares routes with one request.
type comparer struct {
	table    *Table
	request  *Request
	segments [][]byte // of the request
	declared []segment
	rest     bool
	// costs[i][j] is the least cost of aligning the declared segments from i on with
	// the request's from j on.
	costs [alignedMost + 1][alignedMost + 1]int
}

// compare aligns the segments of a route with the request's.
func (c *comparer) compare(index int) comparison {
	c.align(index)
	found := comparison{index: index, cost: c.costs[0][0]}
	alike := false
	c.walk(func(s step, i, _ int) {
		if s == pairStep && c.declared[i].kind == literalSegment {
			alike = true
		}
	})
	found.alike = alike || found.cost <= costType
	e := c.table.routes[index].Endpoint
	if methodOf(e) != string(c.request.Method()) {
		found.cost += costOther
	}
	if !hostCovers(e.Host, c.request.hostName()) {
		found.cost += costOther
	}
	return found
}

// align fills in costs for a route.
func (c *comparer) align(index int) {
	p := &c.table.routes[index].Pattern
	c.declared, c.rest = p.segments, p.catchesAll()
	if c.rest {
		c.declared = c.declared[:len(c.declared)-1]
	}
	c.declared = c.declared[:min(len(c.declared), alignedMost)]
	n, m := len(c.declared), len(c.segments)
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			_, c.costs[i][j] = c.cheapest(i, j)
		}
	}
}

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
	n, m := len(c.declared), len(c.segments)
	switch {
	case i == n && j == m:
		return endStep, 0
	case i == n && c.rest:
		return restStep, 0
	case i == n:
		return extraStep, c.costs[i][j+1] + costGap
	case j == m:
		return missingStep, c.costs[i+1][j] + costGap
	}
	best, pair := pairStep, pairCost(c.declared[i], c.segments[j])
	if pair == costDifferent {
		best = differentStep
	}
	cost := pair + c.costs[i+1][j+1]
	if missing := c.costs[i+1][j] + costGap; missing < cost {
		best, cost = missingStep, missing
	}
	if extra := c.costs[i][j+1] + costGap; extra < cost {
		best, cost = extraStep, extra
	}
	return best, cost
}

// walk calls f with the steps of the best alignment, from the left.
func (c *comparer) walk(f func(s step, i, j int)) {
	for i, j := 0, 0; ; {
		s, _ := c.cheapest(i, j)
		if s == endStep || s == restStep {
			return
		}
		f(s, i, j)
		if s != extraStep {
			i++
		}
		if s != missingStep {
			j++
		}
	}
}

// pairCost is the cost of a declared segment standing for text.
func pairCost(s segment, text []byte) int {
	switch {
	case s.kind != literalSegment:
		if len(text) == 0 || !s.typ.accepts(text) {
			return costType
		}
		return 0
	case s.text == string(text):
		return 0
	case equalFold(text, s.text):
		return costCase
	case len(text) > nearLongest || len(s.text) > nearLongest:
		return costDifferent
	}
	most := min(max(len(text), len(s.text))/3, 2)
	if slips := editDistance(s.text, string(text), most+1); slips <= most {
		return slips * costSlip
	}
	return costDifferent
}

// why says what is different, in the order of the path, then method, host and
// condition; "" when nothing is.
func (c *comparer) why(f comparison) string {
	c.align(f.index)
	route := &c.table.routes[f.index]
	reasons := c.pathReasons()
	if m := methodOf(route.Endpoint); m != string(c.request.Method()) {
		reasons = append(reasons, fmt.Sprintf("it answers %s, not %s", m, shown(c.request.Method())))
	}
	if host := c.request.hostName(); !hostCovers(route.Endpoint.Host, host) {
		reasons = append(reasons, fmt.Sprintf("it answers for the host %s, not %q", route.Endpoint.Host, shown(host)))
	}
	if len(reasons) == 0 && route.If != nil {
		c.request.capturePattern(&route.Pattern)
		if !route.If(c.request) {
			reasons = append(reasons, "its condition does not hold: "+route.Endpoint.If.Value)
		}
	}
	return strings.Join(reasons, ", and ")
}

func (r *Request) capturePattern(p *Pattern) {
	r.params = r.params[:0]
	for i := range p.segments {
		switch {
		case p.segments[i].kind == restSegment:
			r.params = append(r.params, r.tail(i))
		case p.segments[i].kind != literalSegment && i < len(r.target.slashes):
			r.params = append(r.params, r.segment(i))
		}
	}
}

// pathReasons says what is different in the path. Neighbouring segments that are
// missing, or too many, are told together.
func (c *comparer) pathReasons() []string {
	var reasons []string
	var gap strings.Builder
	before := endStep
	closeGap := func(next step) {
		if gap.Len() > 0 && next != before {
			verb := "lacks"
			if before == extraStep {
				verb = "has in addition"
			}
			reasons = append(reasons, fmt.Sprintf("the request %s %q", verb, shown([]byte(gap.String()))))
			gap.Reset()
		}
		before = next
	}
	c.walk(func(s step, i, j int) {
		closeGap(s)
		switch s {
		case missingStep:
			gap.WriteString("/" + c.declared[i].shown())
		case extraStep:
			gap.WriteString("/" + string(c.segments[j]))
		default:
			if reason := pairReason(c.declared[i], c.segments[j], j+1); reason != "" {
				reasons = append(reasons, reason)
			}
		}
	})
	closeGap(endStep)
	return reasons
}

// shown is a segment as it was declared, without its type.
func (s segment) shown() string {
	if s.kind == literalSegment {
		return s.text
	}
	return ":" + s.text
}

// pairReason says why segment number at of the request is not the declared one;
// "" when it is.
func pairReason(s segment, text []byte, at int) string {
	switch {
	case s.kind != literalSegment && len(text) == 0:
		return fmt.Sprintf("segment %d is empty", at)
	case s.kind != literalSegment && s.typ.accepts(text), s.kind == literalSegment && s.text == string(text):
		return ""
	case s.kind != literalSegment:
		return fmt.Sprintf("%q is not %s (path parameter %s)", shown(text), s.typ.described(), s.text)
	case equalFold(text, s.text):
		return fmt.Sprintf("segment %d is %q, not %q (case matters)", at, shown(text), s.text)
	}
	return fmt.Sprintf("segment %d is %q, not %q", at, shown(text), s.text)
}

// shown is a text of the request as messages show it: its beginning.
func shown(text []byte) string {
	const most = 64
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}

// hostCovers tells whether an endpoint declared for host answers name.
func hostCovers(host string, name []byte) bool {
	if host == "" {
		return true
	}
	declared := string(normalHost(nil, []byte(host)))
	if suffix, ok := strings.CutPrefix(declared, "*"); ok {
		return len(name) > len(suffix) && strings.HasSuffix(string(name), suffix)
	}
	return declared == string(name)
}

// editDistance is how many bytes must be put in, left out, replaced or swapped
// with their neighbour to make b of a; anything from limit on is limit. It
// compares at most 64 bytes of each.
func editDistance(a, b string, limit int) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var rows [3][most + 1]int // of the prefix of a before the last, the last, and now
	for j := range len(b) + 1 {
		rows[1][j] = j
	}
	for i := range len(a) {
		older, last, now := &rows[i%3], &rows[(i+1)%3], &rows[(i+2)%3]
		now[0] = i + 1
		least := now[0]
		for j := range len(b) {
			d := min(last[j+1], now[j]) + 1
			same := 1
			if a[i] == b[j] {
				same = 0
			}
			d = min(d, last[j]+same)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, older[j-1]+1)
			}
			now[j+1] = d
			least = min(least, d)
		}
		if least >= limit {
			return limit
		}
	}
	return min(limit, rows[(len(a)+1)%3][len(b)])
}
