package record

import (
	"cmp"
	"iter"
	"slices"

	"mockserver/internal/list"
)

// Busiest returns what was counted between two readings for the endpoints with the most requests,
// the busiest first. If most is 0, it returns all endpoints that had any, or messages.
func Busiest(before, after *Counts, most int) []EndpointCounts {
	type pair struct {
		a, b *EndpointCounts
		n    uint64
	}
	var pairs []pair
	for a, b := range Requested(before, after) {
		pairs = append(pairs, pair{a, b, b.Requests - a.Requests})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.n, a.n) })
	if most > 0 {
		pairs = pairs[:min(len(pairs), most)]
	}
	return list.Map(pairs, func(p pair) EndpointCounts { return p.b.After(p.a) })
}

// Requested returns, in the order of the later reading, the endpoints that had requests or messages
// between two readings, with the counts of each before and after. The earlier counts are empty for an endpoint
// that is new or was removed in between.
func Requested(before, after *Counts) iter.Seq2[*EndpointCounts, *EndpointCounts] {
	earlier := earlierIn(before)
	return func(yield func(a, b *EndpointCounts) bool) {
		for i := range after.Endpoints {
			b := &after.Endpoints[i]
			a := earlier(i, b.ID)
			if a == nil || !a.Since.Equal(b.Since) {
				a = new(EndpointCounts)
			}
			if b.Served() > a.Served() && !yield(a, b) {
				return
			}
		}
	}
}

// earlierIn returns a function that finds endpoints in an earlier reading: at the same index or,
// after a reload, by their ID.
func earlierIn(before *Counts) func(i int, id string) *EndpointCounts {
	var known map[string]*EndpointCounts
	return func(i int, id string) *EndpointCounts {
		if i < len(before.Endpoints) && before.Endpoints[i].ID == id {
			return &before.Endpoints[i]
		}
		if known == nil {
			known = make(map[string]*EndpointCounts, len(before.Endpoints))
			for i := range before.Endpoints {
				known[before.Endpoints[i].ID] = &before.Endpoints[i]
			}
		}
		return known[id]
	}
}
