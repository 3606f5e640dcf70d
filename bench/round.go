package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mockserver/bench/load"
)

// side is a server that is loaded: the baseline, or the candidate.
type side struct {
	address string
	pid     int     // 0 is not known
	server  *server // that was started; nil for one that was not
	bare    bool    // the baseline, which answers 200 whatever is asked
}

// subject is a row of the table: requests, and how to measure them.
type subject struct {
	name, shows string
	requests    [][]byte
	wants       []load.Want
	sample      reply   // an answer, which the baseline gives too
	rate        float64 // requests a second that belong to it; 0 for none
	duration    time.Duration
	during      func(ctx context.Context) // runs while the candidate is loaded; nil for nothing
	costs       []string                  // what is costly in it, as far as it is declared
}

// figures are the measurements of one side in one round.
type figures struct {
	requests uint64
	seconds  float64
	rate     float64 // answered a second
	cpu      float64 // µs of the server's processor time for a request; NaN when it is not known
	memory   uint64  // of the server after the round, in bytes; 0 when it is not known
	busy     float64 // share of its processors that the generator used
	latency  *hdrhistogram.Histogram
	missed   uint64
	late     uint64
	errors   map[string]uint64
}

// pair is one round: the baseline's figures, and then the candidate's.
type pair struct {
	baseline, candidate figures
	quiet               *figures // the candidate without what happens during its rounds; nil for none
}

// load sends the requests of a subject to one side.
func (r *run) load(ctx context.Context, s side, sub *subject, rate float64) (figures, error) {
	return r.loadFor(ctx, s, sub, rate, r.opts.Duration)
}

func (r *run) loadFor(ctx context.Context, s side, sub *subject, rate float64, duration time.Duration) (figures, error) {
	plan := load.Plan{
		Address: s.address, Requests: sub.requests, Wants: sub.wants, Connections: r.opts.Connections,
		Warmup: warmup(duration), Duration: duration, Rate: rate, CPUs: r.placed.Generator,
	}
	if s.bare {
		plan.Wants = slices.Repeat([]load.Want{{Status: 200, Length: -1}}, len(sub.requests))
	}
	var before, after load.Usage
	var failed error
	plan.Counting = func(begun bool) {
		if s.pid == 0 || failed != nil {
			return
		}
		if begun { // what looking for more would cost is the load's time already
			before.CPU, failed = load.CPUOf(s.pid)
		} else {
			after, failed = load.UsageOf(s.pid)
		}
	}
	// A load ends by itself. Should it not, that is an error instead of an endless wait.
	const margin = 20 * time.Second
	bounded, cancel := context.WithTimeout(ctx, plan.Warmup+plan.Duration+margin)
	defer cancel()
	o, err := plan.Run(bounded)
	switch {
	case ctx.Err() != nil:
		return figures{}, context.Cause(ctx)
	case err != nil:
		return figures{}, err
	case bounded.Err() != nil:
		return figures{}, fmt.Errorf("load %s: did not end in time", s.address)
	case failed != nil:
		return figures{}, fmt.Errorf("CPU time and memory of process %d: %w", s.pid, failed)
	}
	return figuresOf(o, before, after, s.pid != 0), nil
}

func figuresOf(o *load.Outcome, before, after load.Usage, known bool) figures {
	f := figures{
		requests: o.Requests, seconds: o.Elapsed.Seconds(), cpu: math.NaN(), busy: o.Busy,
		latency: o.Latency, missed: o.Missed, late: o.Late, errors: o.Errors,
	}
	if f.seconds > 0 {
		f.rate = float64(f.requests) / f.seconds
	}
	if known {
		f.memory = after.Resident
		if f.requests > 0 {
			f.cpu = float64((after.CPU - before.CPU).Nanoseconds()) / 1e3 / float64(f.requests)
		}
	}
	return f
}

// warmup is how long requests are sent before a round counts.
func warmup(duration time.Duration) time.Duration {
	return min(max(duration/5, 50*time.Millisecond), time.Second)
}

// rounds loads baseline and candidate in turn, at the given rate, and appends each complete
// round to the result. It stops at the first round with errors, which make the result void.
func (r *run) rounds(ctx context.Context, res *result, baseline, candidate side, sub *subject, rate float64) error {
	for n := 1; n <= r.opts.Rounds; n++ {
		r.progress.round(sub.name, n, r.opts.Rounds)
		var p pair
		var err error
		if p.baseline, err = r.load(ctx, baseline, sub, rate); err != nil {
			return err
		}
		if sub.during != nil {
			var quiet figures
			if quiet, err = r.load(ctx, candidate, sub, rate); err != nil {
				return err
			}
			p.quiet = &quiet
		}
		if p.candidate, err = r.during(ctx, candidate, sub, rate); err != nil {
			return err
		}
		res.rounds = append(res.rounds, p)
		if res.void(); res.wrong != "" {
			return nil
		}
	}
	return nil
}

// during loads the candidate while the subject's own activity runs.
func (r *run) during(ctx context.Context, candidate side, sub *subject, rate float64) (figures, error) {
	if sub.during == nil {
		return r.load(ctx, candidate, sub, rate)
	}
	over, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		sub.during(over)
		close(done)
	}()
	f, err := r.loadFor(ctx, candidate, sub, rate, max(sub.duration, r.opts.Duration))
	stop()
	<-done
	return f, err
}

// result is the result of one subject.
type result struct {
	name, shows string
	rate        float64 // that was sent; 0 in a closed loop
	capacity    float64 // requests a second that a closed loop found first; 0 when it was not looked for
	rounds      []pair
	curve       []step
	statusOnly  bool // bodies were not looked at
	wrong       string
	costs       []string
	webhooks    *delivered
	reloads     int
	reloaded    bool // the configuration was reloaded during the rounds
}

// step is one rate of an overload curve.
type step struct {
	share, rate float64 // of the capacity; requests a second
	rounds      []pair
}

// void sets why there is no result, if there were errors.
func (res *result) void() {
	add := func(who string, f *figures) {
		if f == nil || len(f.errors) == 0 || res.wrong != "" {
			return
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(f.errors)) {
			kinds = append(kinds, fmt.Sprintf("%d × %s", f.errors[kind], kind))
		}
		res.wrong = fmt.Sprintf("errors of %s: %s", who, strings.Join(kinds, ", "))
	}
	rounds := slices.Clone(res.rounds)
	for i := range res.curve {
		rounds = append(rounds, res.curve[i].rounds...)
	}
	for i := range rounds {
		p := &rounds[i]
		add("the baseline", &p.baseline)
		add("the server", p.quiet)
		add("the server", &p.candidate)
	}
}

// isSound reports whether a step was answered without errors.
func (st *step) isSound() bool { return errorsOf(st.rounds) == 0 }

// sound are the results that are not void.
func sound(results []*result) []*result {
	return slices.DeleteFunc(slices.Clone(results), func(res *result) bool { return res.wrong != "" })
}

// summary is a median with the least and the greatest value.
type summary struct{ median, least, most float64 }

// spread is the range of the rounds as a share of their median.
func (s summary) spread() float64 {
	if !(s.median > 0) {
		return 0
	}
	return (s.most - s.least) / s.median
}

// summarize ignores NaN. The summary of nothing is NaN.
func summarize(values []float64) summary {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(values) == 0 {
		return summary{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(values)
	n := len(values)
	median := values[n/2]
	if n%2 == 0 {
		median = (values[n/2-1] + values[n/2]) / 2
	}
	return summary{median, values[0], values[n-1]}
}

// of summarizes a figure over the rounds.
func (res *result) of(what func(p *pair) float64) summary {
	var values []float64
	for i := range res.rounds {
		values = append(values, what(&res.rounds[i]))
	}
	return summarize(values)
}

// ratio is the cost of a request compared with the baseline in the same round: in processor
// time, or in the time per request if that is unknown.
func (p *pair) ratio() float64 {
	if r := p.candidate.cpu / p.baseline.cpu; !math.IsNaN(r) && !math.IsInf(r, 0) {
		return r
	}
	if p.candidate.rate > 0 && math.IsNaN(p.candidate.cpu) {
		return p.baseline.rate / p.candidate.rate
	}
	return math.NaN()
}

// latency joins the histograms of rounds.
func latency(rounds []pair, of func(p *pair) *figures) *hdrhistogram.Histogram {
	var joined *hdrhistogram.Histogram
	for i := range rounds {
		f := of(&rounds[i])
		switch {
		case f == nil || f.latency == nil:
		case joined == nil:
			joined = hdrhistogram.Import(f.latency.Export())
		default:
			joined.Merge(f.latency)
		}
	}
	return joined
}

// at is a percentile in milliseconds; NaN if nothing was answered.
func at(h *hdrhistogram.Histogram, percentile float64) float64 {
	if h == nil || h.TotalCount() == 0 {
		return math.NaN()
	}
	if percentile == 100 {
		return float64(h.Max()) / 1e6
	}
	return float64(h.ValueAtPercentile(percentile)) / 1e6
}

func candidateOf(p *pair) *figures { return &p.candidate }
func baselineOf(p *pair) *figures  { return &p.baseline }
func quietOf(p *pair) *figures     { return p.quiet }
