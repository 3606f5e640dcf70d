// Package bench measures what the server can do on a machine: it starts the server (the candidate)
// and a bare fasthttp handler (the baseline) as separate processes, checks the server's answers,
// loads both over loopback sockets, and reports what a request costs. Command implements the
// command mockserver bench. A program can also call Run:
//
//	opts, err := bench.ReadOptions(args) // the arguments after "bench"
//	opts.Program, err = os.Executable()
//	err = bench.Run(ctx, opts, os.Stdout, os.Stderr)
//
// The load generator is package load; docs/bench.md explains the figures.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"mockserver/bench/load"
)

// ErrStopped is the error of Run if its context was canceled. Everything measured until then has
// been printed.
var ErrStopped = errors.New("stopped; what was measured is incomplete")

// Run measures, and prints the result to stdout and its progress to stderr. The error says why
// there is no result: a wrong answer, a server that exited, a file that cannot be written,
// ErrStopped. All processes that it started have exited when it returns.
func Run(ctx context.Context, opts Options, stdout, stderr io.Writer) error {
	if opts.List {
		return printScenarios(stdout)
	}
	if runtime.GOOS != "linux" {
		return errors.New("bench measures CPU time as Linux counts it; run it there, for example in a container of the image")
	}
	r := &run{opts: opts, out: stdout, progress: stderr, begun: time.Now()}
	var err error
	if r.dir, err = os.MkdirTemp("", "mockserver-bench-"); err != nil {
		return err
	}
	err = r.measured(ctx)
	err = errors.Join(err, os.RemoveAll(r.dir))
	if ctx.Err() != nil {
		err = ErrStopped
	}
	return r.report(err)
}

// measured measures the scenarios, or the endpoints of the configuration.
func (r *run) measured(ctx context.Context) error {
	r.placed = load.Place()
	if len(r.opts.Rivals) > 0 {
		r.placed.ServersOnOne()
	}
	r.machine = thisMachine(r.opts.Version)
	if len(r.opts.Config) > 0 {
		return r.measureEndpoints(ctx)
	}
	for _, s := range r.chosen() {
		if err := r.measureScenario(ctx, &s); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	return nil
}

// openLoopScenarios are measured at a constant rate unless other scenarios are named.
var openLoopScenarios = []string{"static", "path", "json"}

// nameOfStream is the scenario whose items count instead of its requests.
const nameOfStream = "stream"

// chosen returns the scenarios to measure.
func (r *run) chosen() []scenario {
	names := r.opts.Scenarios
	if len(names) == 0 && r.opts.Rate.given() {
		names = openLoopScenarios
	}
	return slices.DeleteFunc(scenarios(), func(s scenario) bool {
		return len(names) > 0 && !slices.Contains(names, s.Name) || len(r.opts.Rivals) > 0 && s.Name == nameOfStream
	})
}

// measureScenario measures one scenario, on a server of its own.
func (r *run) measureScenario(ctx context.Context, s *scenario) error {
	r.progressf("%s: %s", s.Name, s.Shows)
	var requests []preparedRequest
	for i := range s.Requests {
		requests = append(requests, s.Requests[i].expanded()...)
	}
	server, err := r.startScenario(ctx, s)
	if err != nil {
		return err
	}
	defer server.stop(ctx)
	sub := &subject{name: s.Name, shows: s.Shows, asked: requests}
	if sub.wants, sub.sample, err = checkResponses(ctx, server.address, requests, false); err != nil {
		return err
	}
	return r.measure(ctx, server.side(nameOfCandidate), sub)
}

// startScenario starts the server with the configuration of a scenario.
func (r *run) startScenario(ctx context.Context, s *scenario) (*server, error) {
	dir := filepath.Join(r.dir, s.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := s.write(dir)
	if err != nil {
		return nil, err
	}
	return r.startServer(ctx, []string{file})
}

func printScenarios(out io.Writer) error {
	g := &grid{left: 2}
	for _, s := range scenarios() {
		g.row(s.Name, s.Shows)
	}
	_, err := io.WriteString(out, g.String())
	return err
}
