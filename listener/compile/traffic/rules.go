package traffic

import (
	"fmt"
	"log/slog"
	"sort"
	"time"

	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Rules decide what happens to the requests to an endpoint in addition to its response: they apply
// its rate limit and capacity, and choose one of its outcomes, with a latency and a fault.
type Rules struct {
	Capacity *Capacity    // nil if none
	limit    *Limiter     // nil if none
	Tokens   *TokenLimits // nil if none
	outcomes []outcome    // at least one
	// shares are the cumulative weights of the outcomes, as parts of the total; nil if the outcomes
	// are chosen in turn.
	shares []float64
	holds  bool // if outcomes are chosen in turn, the last one repeats
	// Per returns the value by which turns are kept apart: each value has its own sequence of
	// turns. If Per is nil, all requests take turns together.
	Per func(*matcher.Request) []byte

	noLatency, noFaults bool

	seed   *Seed
	counts *Counts // nil if nothing is counted
}

// outcome defines the latency and the fault of one of the possible results of a request.
type outcome struct {
	latency *Latency
	fault   *Fault
}

// Options are the settings, in addition to an endpoint, with which rules are compiled.
type Options struct {
	Carried        *Carried
	Seed           *Seed
	TrustForwarded bool // a rate limit uses the first address of X-Forwarded-For as the client's
	NoLatency      bool // requests do not wait for their latency
	NoFaults       bool // faults do not happen
	Log            *slog.Logger
}

// Declared reports whether an endpoint declares rules.
func Declared(e *item.Endpoint) bool {
	return len(e.Responses) > 0 || e.LLM != nil && e.LLM.Limits != nil && e.Response.HasStream() || e.Group != (policy.Group{}) || e.Response.Pace != nil
}

// NewRules compiles the rules of an endpoint. The parameters are those of the endpoint's path.
func NewRules(e *item.Endpoint, params []string, counts *Counts, o Options) *Rules {
	r := &Rules{
		limit: NewLimiter(e, params, o), Capacity: carriedCapacity(o.Carried, e), Tokens: newTokenLimits(e, o),
		seed: o.Seed, counts: counts, noLatency: o.NoLatency, noFaults: o.NoFaults,
	}
	name := record.Name(e)
	if len(e.Responses) == 0 {
		r.outcomes = []outcome{{NewLatency(e.Latency, name), newFault(e.Fault, o)}}
		return r
	}
	for i := range e.Responses { // settings that a response omits are taken from the endpoint
		p := e.Responses[i].Group.Over(e.Group)
		r.outcomes = append(r.outcomes, outcome{NewLatency(p.Latency, OutcomeName(name, i)), newFault(p.Fault, o)})
	}
	r.choice(e)
	return r
}

// OutcomeName names an outcome of an endpoint.
func OutcomeName(endpoint string, i int) string { return fmt.Sprintf("%s responses[%d]", endpoint, i) }

// choice compiles how one of the outcomes is chosen.
func (r *Rules) choice(e *item.Endpoint) {
	if r.holds = e.Select == item.SelectSequenceHold; r.holds || e.Select == item.SelectSequence {
		return
	}
	r.shares = make([]float64, len(e.Responses))
	sum := 0.0
	for i := range e.Responses {
		weight := 1.0
		if e.Responses[i].Weighted {
			weight = e.Responses[i].Weight
		}
		sum += weight
		r.shares[i] = sum
	}
	for i := range r.shares {
		r.shares[i] /= sum
	}
}

// Begin seeds random for the next request of the endpoint, if a seed was given.
func (r *Rules) Begin(random *matcher.Random) {
	if r.seed.Seeded {
		r.seed.SeedNth(r.counts, r.counts.Next(), random)
	}
}

// Admit counts a request against the rate limit: see Limiter.Admit. If it refuses the request, it says so in the trace.
func (r *Rules) Admit(q *matcher.Request, p *reply.Reply, t *record.Trace) (result LimitResult, ok bool) {
	result, ok = r.limit.Admit(q, p)
	t.Limited = !ok
	return result, ok
}

// Drawn is the result of the draw for one request.
type Drawn struct {
	Outcome int // index of the outcome among those that the endpoint declares
	Wait
	Fault *Fault // the fault of the response; nil if none
}

// Draw draws what happens to the next request. It draws the same numbers when latency or faults are
// turned off.
func (r *Rules) Draw(q *matcher.Request) Drawn {
	random := &q.Random
	i := r.choose(len(r.outcomes), q)
	o := &r.outcomes[i]
	d := Drawn{Outcome: i, Wait: o.latency.Draw(random)}
	if r.noLatency {
		d.Length, d.Timed = 0, false
	}
	if o.fault.applies(random) && !r.noFaults {
		d.Fault = o.fault
	}
	return d
}

// choose returns the number of the outcome, one of n, for the next request.
func (r *Rules) choose(n int, q *matcher.Request) int {
	switch {
	case n == 1:
		return 0
	case r.shares != nil:
		// Take the first share above the number: an outcome of weight 0 has no share of its own.
		part := q.Random.Float64()
		return sort.Search(n-1, func(i int) bool { return part < r.shares[i] })
	}
	turn := r.counts.Turn(r.Per, q)
	if r.holds {
		return int(min(turn, uint64(n-1)))
	}
	return int(turn % uint64(n))
}

// Late records how much later than declared the response to a waiting request was ready.
func (r *Rules) Late(by time.Duration) { r.counts.Lateness().Add(by) }
