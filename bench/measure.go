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
func (r *run) measure(ctx context.Context, candidate side, sub *subject) error {
	bare, err := r.startBaseline(ctx, &sub.sample)
	if err != nil {
		return err
	}
	defer bare.kill()
	baseline := bare.side(nameOfBaseline)
	baseline.wants = slices.Repeat([]load.Want{{Status: 200, Length: -1}}, len(sub.asked))
	sides := []side{baseline, candidate}
	for _, rival := range r.opts.Rivals {
		s, err := r.startRival(ctx, rival, sub)
		if err != nil {
			return err
		}
		defer func() {
			s.server.stop(ctx)
			load.Kill(s.server.cmd.Process) // processes that did not exit with the command
		}()
		sides = append(sides, s)
	}
	ctx, release := whileRunning(ctx, sides)
	defer release()
	res := &result{Name: sub.name, Shows: sub.shows, Rate: r.opts.Rate.PerSecond, streamed: sub.wants[0].Items > 0}
	if share := r.opts.Rate.Share; share > 0 {
		if res.Capacity, err = r.capacity(ctx, candidate, sub); err != nil {
			return err
		}
		res.Rate = share * res.Capacity
	}
	err = r.measureRounds(ctx, res, sides, sub)
	if len(res.Rounds) > 0 {
		r.results = append(r.results, res)
	}
	return err
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
