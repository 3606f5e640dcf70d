package traffic

import (
	"hash/fnv"
	"io"
	"sync/atomic"

	"mockserver/config/item"
	"mockserver/internal/histogram"
	"mockserver/internal/keyed"
	"mockserver/matcher"
)

// Seed makes all random choices of a server repeatable. Each request has its own stream of numbers,
// which depends on the seed, the endpoint, and how many requests the endpoint had before; other
// traffic does not affect it.
type Seed struct {
	Seeded bool // whether a seed was given
	seed   uint64
}

// NewSeed returns the seed given by --seed; if seed is nil, choices are not repeatable.
func NewSeed(seed *uint64) Seed {
	if seed == nil {
		return Seed{}
	}
	return Seed{Seeded: true, seed: matcher.Mix(*seed)}
}

// Counts holds the counts of an endpoint for as long as its declaration stays unchanged.
type Counts struct {
	stream uint64 // selects the streams of this endpoint among all streams of a seed

	requests atomic.Uint64 // number of requests that were given a number
	tries    atomic.Uint64 // number of evaluations of its condition, which have streams too
	turns    atomic.Uint64 // number of outcomes chosen in turn
	keyed    keyed.Counts  // the same number for each value of an operand
	late     atomic.Pointer[histogram.Histogram]
}

// NewCounts returns the counts of an endpoint, or nil if there is nothing to count. An endpoint
// that a reload leaves unchanged keeps its counts.
func NewCounts(k *Carried, e *item.Endpoint, seeded bool) *Counts {
	if !seeded && len(e.Responses) == 0 && e.Latency == nil && e.Response.Pace == nil && e.Response.Proxy == nil {
		return nil
	}
	return Keep(k, e, "counts "+e.Fingerprint(), func() *Counts {
		h := fnv.New64a()
		for _, part := range []string{e.EffectiveMethod(), e.Host, e.Path.Value, e.If.Value} {
			_, _ = io.WriteString(h, part+"\x00") // never fails
		}
		return &Counts{stream: h.Sum64()}
	})
}

// The kinds of streams of one endpoint: for its requests, and for its condition.
const (
	ofRequests = iota
	ofConditions
)

// Conditional gives each evaluation of a condition its own numbers: conditions are evaluated before
// it is known which endpoint answers.
func (c *Seed) Conditional(t *Counts, holds func(*matcher.Request) bool) func(*matcher.Request) bool {
	return func(r *matcher.Request) bool {
		r.Random.Seed(c.seed^matcher.Mix(t.stream+ofConditions), t.tries.Add(1))
		return holds(r)
	}
}

// Next returns the number of the next request, from 1.
func (t *Counts) Next() uint64 { return t.requests.Add(1) }

// SeedNth gives random the n-th stream of an endpoint.
func (c *Seed) SeedNth(t *Counts, n uint64, random *matcher.Random) {
	random.Seed(c.seed^matcher.Mix(t.stream+ofRequests), n)
}

// Turn returns the number of the next turn. It counts those of each value by itself, unless of is
// nil.
func (t *Counts) Turn(of func(*matcher.Request) []byte, r *matcher.Request) uint64 {
	if of == nil {
		return t.turns.Add(1) - 1
	}
	return t.keyed.Next(of(r))
}

// Lateness returns how late the responses to waiting requests of the endpoint were.
func (t *Counts) Lateness() *histogram.Histogram {
	if h := t.late.Load(); h != nil {
		return h
	}
	t.late.CompareAndSwap(nil, new(histogram.Histogram))
	return t.late.Load()
}
