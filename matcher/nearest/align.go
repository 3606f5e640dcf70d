package nearest

import (
	"strings"

	"mockserver/internal/wording"
	"mockserver/matcher"
)

// slipReach is how many segments away from its position a misspelled segment is searched for: more
// segments in a row are unlikely to be omitted or added by mistake.
const slipReach = 3

// step is one step of an alignment.
type step uint8

const (
	pairStep      step = iota
	differentStep      // a declared segment paired with a dissimilar one
	missingStep        // a declared segment missing from the request
	extraStep          // a segment of the request that is not declared
)

// move is a step with its positions in the route and in the request.
type move struct {
	step step
	i, j int
}

// align returns the cost of the differences between the path of a route and that of the request,
// and the moves of the cheapest alignment, from left to right.
func (c *comparer) align(route *matcher.Route) (cost int, moves []move) {
	c.take(route)
	var steps [alignedMost + 1][alignedMost + 1]step
	var costs [alignedMost + 1][alignedMost + 1]int // of everything from there on
	for i := c.n; i >= 0; i-- {
		for j := c.m; j >= 0; j-- {
			switch {
			case i == c.n && (j == c.m || c.rest):
			case i == c.n:
				steps[i][j], costs[i][j] = extraStep, costs[i][j+1]+costGap
			case j == c.m:
				steps[i][j], costs[i][j] = missingStep, costs[i+1][j]+costGap
			default:
				best, pair := pairStep, c.pairCost(i, j)
				if pair == costDifferent {
					best = differentStep
				}
				least := pair + costs[i+1][j+1]
				if missing := costs[i+1][j] + costGap; missing < least {
					best, least = missingStep, missing
				}
				if extra := costs[i][j+1] + costGap; extra < least {
					best, least = extraStep, extra
				}
				steps[i][j], costs[i][j] = best, least
			}
		}
	}
	for i := range c.head {
		moves = append(moves, move{pairStep, i, i})
	}
	for i, j := 0, 0; i < c.n || j < c.m && !c.rest; {
		s := steps[i][j]
		moves = append(moves, move{s, c.head + i, c.head + j})
		if s != extraStep {
			i++
		}
		if s != missingStep {
			j++
		}
	}
	for k := range c.tail {
		moves = append(moves, move{pairStep, c.head + c.n + k, c.head + c.m + k})
	}
	return costs[0][0], moves
}

// pairCost returns the cost of pairing declared segment i with segment j of the request, both
// counted from the end of the head.
func (c *comparer) pairCost(i, j int) int {
	s, text := &c.declared[c.head+i], string(c.segments[c.head+j])
	declared := s.Text()
	switch {
	case c.fits(c.head+i, c.head+j):
		return 0
	case !s.IsLiteral():
		return costType
	case strings.EqualFold(text, declared):
		return costCase
	case i-j > slipReach+max(c.n-c.m, 0) || j-i > slipReach+max(c.m-c.n, 0) || c.work > alignWork:
		return costDifferent
	}
	most := mostSlips(len(declared), len(text))
	if most == 0 || max(len(declared)-len(text), len(text)-len(declared)) > most {
		return costDifferent
	}
	c.work += len(text) * (2*most + 1)
	if slips := wording.Distance(declared, text, most+1); slips <= most {
		return slips * costSlip
	}
	return costDifferent
}

// compare returns the cost of the differences between a route and the request. A route that has too
// little in common with the request to be worth mentioning is not alike.
func (c *comparer) compare(route *matcher.Route) (cost int, alike bool) {
	cost, moves := c.align(route)
	alike = cost <= costType
	for _, m := range moves {
		alike = alike || m.step == pairStep && c.declared[m.i].IsLiteral()
	}
	return cost + c.otherCost(), alike
}
