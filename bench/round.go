package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mockserver/bench/load"
)

// side is a server under load: the baseline or the candidate.
type side struct {
	address string
	pid     int     // 0 is not known
	server  *server // that was started; nil for one that was not
	bare    bool    // the baseline, which answers everything with 200
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
	Requests uint64            `json:"requests"`
	Seconds  float64           `json:"seconds"`
	Rate     float64           `json:"requests_per_second"` // answered
	CPU      figure            `json:"cpu_us_per_request"`  // processor time of the server
	Memory   figure            `json:"memory_bytes"`        // of the server after the round
	Busy     float64           `json:"generator_busy"`      // share of its processors that the generator used
	Latency  latencies         `json:"latency_ms"`
	Missed   uint64            `json:"missed"`
	Late     uint64            `json:"late"`
	Errors   map[string]uint64 `json:"errors"`
}

// pair is one round: the baseline's figures, and then the candidate's.
type pair struct {
	Ratio     figure   `json:"ratio"` // see ratio
	Baseline  figures  `json:"baseline"`
	Candidate figures  `json:"candidate"`
	Quiet     *figures `json:"candidate_quiet"` // the candidate without what happens during its rounds; nil for none
}

// load sends the requests of a subject to one side.
func (r *run) load(ctx context.Context, s side, sub *subject, rate float64, duration time.Duration) (figures, error) {
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
		Requests: o.Requests, Seconds: o.Elapsed.Seconds(), CPU: unknown, Memory: unknown, Busy: o.Busy,
		Latency: latencies{o.Latency}, Missed: o.Missed, Late: o.Late, Errors: o.Errors,
	}
	if f.Seconds > 0 {
		f.Rate = float64(f.Requests) / f.Seconds
	}
	if known && after.Resident > 0 {
		f.Memory = figure(after.Resident)
	}
	if known && f.Requests > 0 {
		f.CPU = figure((after.CPU - before.CPU).Nanoseconds()) / 1e3 / figure(f.Requests)
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
		if p.Baseline, err = r.load(ctx, baseline, sub, rate, r.opts.Duration); err != nil {
			return err
		}
		if sub.during != nil {
			var quiet figures
			if quiet, err = r.load(ctx, candidate, sub, rate, r.opts.Duration); err != nil {
				return err
			}
			p.Quiet = &quiet
		}
		if p.Candidate, err = r.during(ctx, candidate, sub, rate); err != nil {
			return err
		}
		p.Ratio = p.ratio()
		res.Rounds = append(res.Rounds, p)
		if res.judge(); res.Void != "" {
			return nil
		}
	}
	return nil
}

// during loads the candidate while the subject's own activity runs.
func (r *run) during(ctx context.Context, candidate side, sub *subject, rate float64) (figures, error) {
	if sub.during == nil {
		return r.load(ctx, candidate, sub, rate, r.opts.Duration)
	}
	over, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		sub.during(over)
		close(done)
	}()
	f, err := r.load(ctx, candidate, sub, rate, max(sub.duration, r.opts.Duration))
	stop()
	<-done
	return f, err
}
