package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mockserver/bench/load"
)

// loadSide sends the requests of a subject to one side.
func (r *run) loadSide(ctx context.Context, s side, sub *subject, rate float64, duration time.Duration) (*figures, error) {
	plan := load.Plan{
		Address: s.address, Wants: s.wants, Connections: r.opts.Connections,
		Warmup: warmup(duration), Duration: duration, Rate: rate, CPUs: r.placed.Generator,
	}
	if s.wants == nil {
		plan.Wants = sub.wants
	}
	for i := range sub.asked {
		plan.Requests = append(plan.Requests, sub.asked[i].wire)
	}
	var before, after load.Usage
	family := load.FamilyOf(s.pid)
	var failed error
	plan.Counting = func(begun bool) {
		for _, pid := range family {
			var u load.Usage
			switch {
			case failed != nil:
			case begun: // reading more would take time from the load
				u.CPU, failed = load.CPUOf(pid)
				before.CPU += u.CPU
			default:
				u, failed = load.UsageOf(pid)
				after.CPU += u.CPU
				after.Resident += u.Resident
			}
		}
		if now := load.FamilyOf(s.pid); !begun && failed == nil && !slices.Equal(now, family) {
			failed = fmt.Errorf("its processes have changed from %v to %v, so their total usage is unknown", family, now)
		}
	}
	// A load stops by itself. If it does not, an error is returned instead of waiting forever.
	const margin = 20 * time.Second
	bounded, cancel := context.WithTimeout(ctx, plan.Warmup+plan.Duration+margin)
	defer cancel()
	o, err := plan.Run(bounded)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case bounded.Err() != nil:
		return nil, fmt.Errorf("load on %s did not end in time", s.address)
	case failed != nil:
		select { // if the server has exited, its own error explains more
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(endPatience):
		}
		return nil, fmt.Errorf("CPU time and memory of process %d (%s): %w", s.pid, s.name, failed)
	}
	return figuresOf(o, before, after), nil
}

// figuresOf returns the figures of a load.
func figuresOf(o *load.Outcome, before, after load.Usage) *figures {
	f := &figures{
		Requests: o.Requests, Seconds: o.Elapsed.Seconds(), Memory: figure(after.Resident), Busy: o.Busy,
		CPU:    figure((after.CPU - before.CPU).Nanoseconds()) / 1e3 / figure(o.Requests), // unknown without requests
		Missed: o.Missed, Late: o.Late, Errors: o.Errors,
	}
	o.Latency.Read(&f.Latency.Snapshot)
	if f.Seconds > 0 {
		f.Rate = float64(f.Requests) / f.Seconds
	}
	return f
}

// endPatience is how long to wait for the exit of a process to be noticed.
const endPatience = 200 * time.Millisecond

// measureRounds measures round by round, and appends each complete round to the result: the candidate
// alone, and then all sides at once; or, at a rate or for streams, the baseline and the candidate in turn. It stops at
// the first round with errors, which make the result void.
func (r *run) measureRounds(ctx context.Context, res *result, sides []side, sub *subject) error {
	parts := [][]side{sides[:1], sides[1:2]}
	if res.Rate == 0 && sub.wants[0].Items == 0 {
		alone := sides[1]
		alone.name = nameOfAlone
		parts = [][]side{{alone}, sides}
		if err := r.together(ctx, sides, sub, 0, map[string]*figures{}); err != nil { // warms them up
			return err
		}
	}
	for range r.opts.Rounds {
		done := round{Sides: map[string]*figures{}}
		for _, part := range parts {
			if err := r.together(ctx, part, sub, res.Rate, done.Sides); err != nil {
				return err
			}
		}
		done.Ratio = done.ratio()
		res.Rounds = append(res.Rounds, done)
		if res.judge(); res.Void != "" {
			return nil
		}
	}
	return nil
}

// together loads sides at the same time, on the same processors: other activity on the machine
// affects all of them equally. It adds their figures to all.
func (r *run) together(ctx context.Context, sides []side, sub *subject, rate float64, all map[string]*figures) error {
	loaded, failed := make([]*figures, len(sides)), make([]error, len(sides))
	var loads sync.WaitGroup
	for i := range sides {
		loads.Go(func() { loaded[i], failed[i] = r.loadSide(ctx, sides[i], sub, rate, r.opts.Duration) })
	}
	loads.Wait()
	for i := range sides {
		all[sides[i].name] = loaded[i]
	}
	return cmp.Or(failed...)
}
