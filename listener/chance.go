package listener

import (
	"hash/fnv"
	"io"
	"sync/atomic"

	"mockserver/config"
	"mockserver/internal/histogram"
	"mockserver/matcher"
)

// chance is the seed that all random choices of a server repeat by: --seed. Each
// request has a stream of numbers of its own, which follows from the seed, the
// endpoint, and how many requests that had before, and not from what else is served
// meanwhile.
type chance struct {
	seeded bool
	seed   uint64
}

func newChance(seed *uint64) chance {
	if seed == nil {
		return chance{}
	}
	return chance{seeded: true, seed: matcher.Mix(*seed)}
}

// tally is what is counted of an endpoint for as long as it is declared as it is.
type tally struct {
	stream uint64 // of all streams of a seed, those of this endpoint

	requests atomic.Uint64 // that have a number
	tries    atomic.Uint64 // evaluations of its condition, which have streams as well
	turns    atomic.Uint64 // outcomes given in turn
	late     atomic.Pointer[histogram.Histogram]
}

// newTally is that of an endpoint; nil for one of which nothing is to be counted. A reload
// does not begin anew what did not change.
func newTally(k *kept, e *config.Endpoint, seeded bool) *tally {
	if !seeded && len(e.Responses) == 0 && e.Latency == nil {
		return nil
	}
	return keep(k, e, "tally "+e.Fingerprint(), func() *tally {
		h := fnv.New64a()
		for _, part := range []string{e.EffectiveMethod(), e.Host, e.Path.Value, e.If.Value} {
			_, _ = io.WriteString(h, part+"\x00") // never fails
		}
		return &tally{stream: h.Sum64()}
	})
}

// Streams of one endpoint: those of its requests, and of its conditions.
const (
	ofRequests = iota
	ofConditions
)

// begin gives a request the numbers that it has as the next one of its endpoint.
func (c *chance) begin(t *tally, random *matcher.Random) {
	if c.seeded {
		c.seedNth(t, t.next(), random)
	}
}

// conditional gives each evaluation of a condition numbers of its own: it comes before
// it is known which endpoint answers.
func (c *chance) conditional(t *tally, holds func(*matcher.Request) bool) func(*matcher.Request) bool {
	return func(r *matcher.Request) bool {
		r.Random.Seed(c.seed^matcher.Mix(t.stream+ofConditions), t.tries.Add(1))
		return holds(r)
	}
}

// next is the number of the next request, from 1.
func (t *tally) next() uint64 { return t.requests.Add(1) }

// seedNth gives random the n-th stream of an endpoint.
func (c *chance) seedNth(t *tally, n uint64, random *matcher.Random) {
	random.Seed(c.seed^matcher.Mix(t.stream+ofRequests), n)
}

// turn is the number of the next turn, of n that come again and again; or from which
// on, when the last one stays, it is n.
func (t *tally) turn(n uint64, holds bool) uint64 {
	if !holds {
		return (t.turns.Add(1) - 1) % n
	}
	for {
		turn := t.turns.Load()
		if turn >= n || t.turns.CompareAndSwap(turn, turn+1) {
			return turn
		}
	}
}

// measured is lateness, or nil when no answer had to wait.
func (t *tally) measured() *histogram.Histogram { return t.late.Load() }

// lateness is how late the answers of the endpoint were, of those that had to wait.
func (t *tally) lateness() *histogram.Histogram {
	if h := t.late.Load(); h != nil {
		return h
	}
	t.late.CompareAndSwap(nil, new(histogram.Histogram))
	return t.late.Load()
}
