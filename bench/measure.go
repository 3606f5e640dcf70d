package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mockserver/bench/load"
)

// measure measures a subject according to the options, and keeps the result unless nothing was
// measured.
func (r *run) measure(ctx context.Context, candidate side, sub *subject) (*result, error) {
	res := &result{Name: sub.name, Shows: sub.shows}
	bare, err := r.startBaseline(ctx, &sub.sample)
	if err != nil {
		return nil, err
	}
	defer bare.kill()
	baseline := side{address: bare.address, pid: bare.pid, server: bare, wants: slices.Repeat([]load.Want{{Status: 200, Length: -1}}, len(sub.requests))}
	sides := []side{baseline, candidate}
	for _, rival := range r.opts.Rivals {
		s, err := r.startRival(ctx, rival, sub)
		if err != nil {
			return nil, err
		}
		defer func() {
			s.server.end(ctx)
			killGroup(s.server.cmd.Process) // processes that did not exit with the command
		}()
		sides = append(sides, s)
	}
	ctx, release := whileRunning(ctx, sides)
	defer release()
	rate := sub.rate
	if r.opts.Curve || r.opts.Rate.Share > 0 {
		if res.Capacity, err = r.capacity(ctx, candidate, sub); err != nil {
			return nil, err
		}
	}
	switch {
	case r.opts.Curve:
		err = r.curve(ctx, res, baseline, candidate, sub)
	case r.opts.Rate.Share > 0:
		rate = res.Capacity * r.opts.Rate.Share
	case r.opts.Rate.PerSecond > 0:
		rate = r.opts.Rate.PerSecond
	}
	if !r.opts.Curve {
		res.Rate = rate
		err = r.measureRounds(ctx, res, sides, sub, rate)
	}
	if len(res.Rounds) == 0 && len(res.Curve) == 0 {
		return nil, err
	}
	r.results = append(r.results, res)
	return res, err
}

// capacity measures how many requests a second the candidate answers in a closed loop.
func (r *run) capacity(ctx context.Context, candidate side, sub *subject) (float64, error) {
	r.say("%s: capacity", sub.name)
	f, err := r.loadSide(ctx, candidate, sub, 0, min(r.opts.Duration, time.Second))
	if err != nil {
		return 0, err
	}
	if f.Rate < 1 {
		res := result{Rounds: []pair{{Candidate: f}}}
		res.judge()
		return 0, fmt.Errorf("%s: cannot find its capacity: no expected response; %s", sub.name, res.Void)
	}
	return f.Rate, nil
}

// curveShares are the steps of an overload curve.
var curveShares = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2}

// curve loads both sides at each step of the curve.
func (r *run) curve(ctx context.Context, res *result, baseline, candidate side, sub *subject) error {
	for _, share := range curveShares {
		st := step{Share: share, Rate: share * res.Capacity}
		for range r.opts.Rounds {
			var p pair
			var err error
			if p.Baseline, err = r.loadSide(ctx, baseline, sub, st.Rate, r.opts.Duration); err != nil {
				return err
			}
			if p.Candidate, err = r.loadSide(ctx, candidate, sub, st.Rate, r.opts.Duration); err != nil {
				return err
			}
			p.Ratio = p.ratio()
			st.Rounds = append(st.Rounds, p)
		}
		res.Curve = append(res.Curve, st)
		if res.judge(); res.Void != "" {
			return nil
		}
	}
	return nil
}
