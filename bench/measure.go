package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"mockserver/bench/load"
	"mockserver/internal/list"
)

// measure measures a subject according to the options, and keeps the result unless nothing was
// measured.
func (r *run) measure(ctx context.Context, candidate side, sub *subject) (*result, error) {
	bare, err := r.startBaseline(ctx, &sub.sample)
	if err != nil {
		return nil, err
	}
	defer bare.kill()
	baseline := bare.side(nameOfBaseline)
	baseline.wants = slices.Repeat([]load.Want{{Status: 200, Length: -1}}, len(sub.asked))
	sides := []side{baseline, candidate}
	for _, rival := range r.opts.Rivals {
		s, err := r.startRival(ctx, rival, sub)
		if err != nil {
			return nil, err
		}
		defer func() {
			s.server.stop(ctx)
			killGroup(s.server.cmd.Process) // processes that did not exit with the command
		}()
		sides = append(sides, s)
	}
	ctx, release := whileRunning(ctx, sides)
	defer release()
	capacity := 0.0
	if r.opts.Curve || r.opts.Rate.Share > 0 {
		if capacity, err = r.capacity(ctx, candidate, sub); err != nil {
			return nil, err
		}
	}
	var last *result
	for _, rate := range r.rates(sub, capacity) {
		res := &result{Name: sub.name, Shows: sub.shows, Capacity: capacity, Rate: rate}
		if r.opts.Curve {
			res.Name += fmt.Sprintf(" %.0f %%", 100*rate/capacity)
		}
		err = r.measureRounds(ctx, res, sides, sub, rate)
		if len(res.Rounds) > 0 {
			last, r.results = res, append(r.results, res)
		}
		if err != nil || res.Void != "" {
			break
		}
	}
	return last, err
}

// curveShares are the steps of an overload curve, as shares of the capacity.
var curveShares = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2}

// rates returns the rates at which a subject is measured, in requests a second; 0 is a closed loop.
func (r *run) rates(sub *subject, capacity float64) []float64 {
	switch {
	case r.opts.Curve:
		return list.Map(curveShares, func(share float64) float64 { return share * capacity })
	case r.opts.Rate.Share > 0:
		return []float64{r.opts.Rate.Share * capacity}
	}
	return []float64{cmp.Or(r.opts.Rate.PerSecond, sub.rate)}
}

// capacity measures how many requests a second the candidate answers in a closed loop.
func (r *run) capacity(ctx context.Context, candidate side, sub *subject) (float64, error) {
	r.progressf("%s: capacity", sub.name)
	f, err := r.loadSide(ctx, candidate, sub, 0, min(r.opts.Duration, time.Second))
	if err != nil {
		return 0, err
	}
	if f.Rate < 1 {
		var res result
		res.judgeSide(nameOfCandidate, f)
		return 0, fmt.Errorf("%s: cannot find its capacity: no expected response; %s", sub.name, res.Void)
	}
	return f.Rate, nil
}
