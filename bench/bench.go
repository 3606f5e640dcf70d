// Package bench measures what the server can do on a machine: it starts the server
// and a bare fasthttp handler as processes of their own, checks the server's answers, loads
// both over loopback sockets, and reports what a request costs.
// It is the command mockserver bench, which is Command:
//
//	opts, err := bench.ReadOptions(args) // the arguments after "bench"
//	opts.Program, err = os.Executable()
//	err = bench.Run(ctx, opts, os.Stdout, os.Stderr)
//
// What is measured is declared: scenarios/ holds a file for each scenario, and the
// endpoints of a configuration are measured with requests made from their declarations.
// A machine drifts, so baseline and candidate are loaded at the same time, or in turn where
// only one may be: the ratios of rounds are comparable where single figures are not. Only
// checked answers are counted, and errors make a result void.
//
// The load generator is package load; docs/bench.md explains the figures.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"mockserver/bench/load"
)

// ErrStopped is the error of Run when its context ended. What was measured until then has
// been printed.
var ErrStopped = errors.New("stopped; what was measured is incomplete")

// run is one run of the command.
type run struct {
	opts     Options
	out      io.Writer
	progress *progress
	dir      string // for what servers read; removed at the end
	begun    time.Time
	machine  machine

	placed load.Placement

	results []*result
	listed  []unasked // endpoints that were not measured
	notes   []string
}

// Run measures, and prints the result to stdout and its progress to stderr. The error says
// why there is no result: a wrong answer, a server that ended, a file that cannot be
// written, ErrStopped. All processes that it started have ended when it returns.
func Run(ctx context.Context, opts Options, stdout, stderr io.Writer) error {
	if opts.List {
		return list(stdout)
	}
	r := &run{opts: opts, out: stdout, progress: &progress{w: stderr, terminal: isTerminal(stderr)}, begun: time.Now()}
	var err error
	if r.dir, err = os.MkdirTemp("", "mockserver-bench-"); err != nil {
		return err
	}
	err = r.measured(ctx)
	r.progress.end()
	err = errors.Join(err, os.RemoveAll(r.dir))
	if ctx.Err() != nil {
		err = ErrStopped
	}
	return r.report(err)
}

// measured measures the scenarios, or the endpoints of the configuration.
func (r *run) measured(ctx context.Context) error {
	r.placed = load.Place()
	if r.opts.Together {
		r.placed.ServersOnOne()
	}
	r.machine = thisMachine(r.opts.Version)
	if len(r.opts.Config) > 0 {
		return r.endpoints(ctx)
	}
	all, err := r.chosen()
	if err != nil {
		return err
	}
	for i := range all {
		if err := r.scenario(ctx, &all[i]); err != nil {
			return fmt.Errorf("scenario %s: %w", all[i].Name, err)
		}
	}
	return nil
}

// openLoopScenarios are measured at a constant rate unless others are named.
var openLoopScenarios = []string{"static", "path", "json"}

// chosen returns the scenarios to measure.
func (r *run) chosen() ([]scenario, error) {
	all, err := scenarios()
	if err != nil {
		return nil, err
	}
	names := r.opts.Scenarios
	switch {
	case r.opts.Together:
		return slices.DeleteFunc(all, func(s scenario) bool {
			return !s.isClosedLoop() || len(names) > 0 && !slices.Contains(names, s.Name)
		}), nil
	case len(names) > 0:
	case r.opts.Curve:
		names = openLoopScenarios[:1]
	case r.opts.Rate.given():
		names = openLoopScenarios
	default:
		return all, nil
	}
	return slices.DeleteFunc(all, func(s scenario) bool { return !slices.Contains(names, s.Name) }), nil
}

// scenario measures one scenario, on a server of its own or on the target.
func (r *run) scenario(ctx context.Context, s *scenario) error {
	r.progress.say("%s: %s", s.Name, s.Shows)
	var requests []asked
	for i := range s.Requests {
		requests = append(requests, s.Requests[i].expanded()...)
	}
	sub := &subject{name: s.Name, shows: s.Shows, asked: requests, rate: s.Rate, duration: s.Duration}
	for i := range requests {
		sub.requests = append(sub.requests, requests[i].wire)
	}
	if r.opts.Target != "" {
		return r.scenarioOfTarget(ctx, sub, requests)
	}
	st := &stand{run: r, scenario: s}
	candidate, err := st.open(ctx)
	defer st.close(ctx)
	if err != nil {
		return err
	}
	if sub.wants, sub.sample, err = check(ctx, candidate.address, requests, false); err != nil {
		return err
	}
	if s.RewriteEvery > 0 {
		sub.during = st.rewrite
	}
	res, err := r.measure(ctx, candidate, sub)
	if res != nil {
		st.finish(ctx, res)
	}
	return err
}

// scenarioOfTarget loads a server that bench did not start: only the status of its answers
// is checked.
func (r *run) scenarioOfTarget(ctx context.Context, sub *subject, requests []asked) error {
	var err error
	if sub.wants, sub.sample, err = check(ctx, r.opts.Target, requests, true); err != nil {
		return err
	}
	sub.duration = 0
	res, err := r.measure(ctx, side{address: r.opts.Target, pid: r.opts.PID}, sub)
	if res != nil {
		res.statusOnly = true
	}
	return err
}

// measure measures a subject as the options say, and keeps the result unless nothing was
// measured.
func (r *run) measure(ctx context.Context, candidate side, sub *subject) (*result, error) {
	res := &result{Name: sub.name, Shows: sub.shows, Costs: sub.costs}
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
			killGroup(s.server.cmd.Process) // what did not end with the command
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
		err = r.rounds(ctx, res, sides, sub, rate)
	}
	if len(res.Rounds) == 0 && len(res.Curve) == 0 {
		return nil, err
	}
	r.results = append(r.results, res)
	return res, err
}

// capacity measures how many requests a second the candidate answers in a closed loop.
func (r *run) capacity(ctx context.Context, candidate side, sub *subject) (float64, error) {
	r.progress.say("%s: capacity", sub.name)
	f, err := r.load(ctx, candidate, sub, 0, min(r.opts.Duration, time.Second))
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
	for n, share := range curveShares {
		r.progress.round(sub.name, n+1, len(curveShares))
		st := step{Share: share, Rate: share * res.Capacity}
		for range r.opts.Rounds {
			var p pair
			var err error
			if p.Baseline, err = r.load(ctx, baseline, sub, st.Rate, r.opts.Duration); err != nil {
				return err
			}
			if p.Candidate, err = r.load(ctx, candidate, sub, st.Rate, r.opts.Duration); err != nil {
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

// list prints the scenarios.
func list(out io.Writer) error {
	all, err := scenarios()
	if err != nil {
		return err
	}
	g := &grid{left: 2}
	for i := range all {
		g.row(all[i].Name, all[i].Shows)
	}
	_, err = io.WriteString(out, g.String())
	return err
}
