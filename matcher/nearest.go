package matcher

import "slices"

// Near is a declared route that is like a request which nothing answered.
type Near struct {
	Index int    // into the routes given to Compile
	Why   string // why it did not answer, one sentence without a full stop
}

const (
	// nearMany is how many routes one search takes up, at most.
	nearMany = 300
	// nearWork is how much work one search puts into comparing them, in comparisons
	// of a few nanoseconds; then it makes do with what it has found.
	nearWork = 80_000
	// nearNodes is how many places in the trees one search visits.
	nearNodes = 4 * nearMany
)

// Nearest returns the routes most like r, at most limit of them, the likest
// first, and why each does not answer it. It is for requests that nothing
// matched. Conditions are not asked again. What it costs is bounded, whatever the
// table and the request, so of routes that are all long and all alike to the
// request it may overlook a nearer one.
func (t *Table) Nearest(r *Request, limit int) []Near {
	if r.parts().trimmed == nil || limit <= 0 {
		return nil
	}
	c := newComparer(t, r)
	var out []Near
	for _, l := range c.search(limit) {
		if len(out) == limit {
			break
		}
		if why := c.why(l.index); why != "" {
			out = append(out, Near{Index: l.index, Why: why})
		}
	}
	r.params = r.params[:0]
	return out
}

// search returns the routes like the request, the likest first. It compares first
// what promises most, and stops when it has so many that nothing left can beat.
func (c *comparer) search(limit int) []likeness {
	var all, found []likeness
	for _, i := range c.candidates() {
		all = append(all, c.estimate(int(i)))
	}
	slices.SortStableFunc(all, func(a, b likeness) int { return a.guess - b.guess })
	for i := len(all) - 2; i >= 0; i-- { // from here on, of this one and all after it
		all[i].least = min(all[i].least, all[i+1].least)
	}
	unbeaten, least := 0, -1 // how many found cost no more than what is left costs at least
	for i := range all {
		if all[i].least > least {
			least = all[i].least
			unbeaten = countUpTo(found, least)
		}
		if unbeaten >= limit || c.work > nearWork {
			break
		}
		if !c.compare(&all[i]) {
			continue
		}
		found = append(found, all[i])
		if all[i].cost <= least {
			unbeaten++
		}
	}
	slices.SortStableFunc(found, func(a, b likeness) int { return a.cost - b.cost })
	return found
}

// countUpTo is how many routes cost no more than cost.
func countUpTo(found []likeness, cost int) int {
	n := 0
	for i := range found {
		if found[i].cost <= cost {
			n++
		}
	}
	return n
}

// chosen is a set of routes in the order they were put in, nearMany at most.
type chosen struct {
	routes []int32
	seen   []uint64 // a bit for every route of the table
}

// add tells whether there is room for more.
func (s *chosen) add(i int32) bool {
	if len(s.routes) == nearMany {
		return false
	}
	word, bit := &s.seen[i/64], uint64(1)<<(i%64)
	if *word&bit == 0 {
		*word |= bit
		s.routes = append(s.routes, i)
	}
	return true
}

// candidates returns the routes worth comparing, in the order declared: all of a
// small table; of a large one those whose shape fits and those that share a
// literal with the path, but for one slip.
func (c *comparer) candidates() []int32 {
	t := c.table
	var found chosen
	if len(t.routes) <= nearMany {
		for i := range t.routes {
			found.routes = append(found.routes, int32(i))
		}
		return found.routes
	}
	found.seen = make([]uint64, (len(t.routes)+63)/64)
	t.eachLeaf(c.request, nearNodes, func(l *leaf) bool {
		for _, e := range l.entries[:min(len(l.entries), nearAlike)] {
			found.add(int32(e.index))
		}
		return len(found.routes) < nearMany
	})
	lists := make([][]int32, len(c.segments))
	for i, text := range c.segments {
		lists[i] = t.near.alike(text)
	}
	// What few routes share tells more than what many do ("api").
	slices.SortStableFunc(lists, func(a, b []int32) int { return len(a) - len(b) })
	for _, list := range lists {
		for _, i := range list {
			if !found.add(i) {
				break
			}
		}
	}
	slices.Sort(found.routes)
	return found.routes
}
