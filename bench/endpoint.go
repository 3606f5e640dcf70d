package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/settings"
	"mockserver/internal/wording"
)

const (
	// endpointsTime is how long measuring the endpoints of a configuration takes if no
	// duration is given, unless the rounds would become too short.
	endpointsTime = time.Minute
	shortestRound = 50 * time.Millisecond
	longestRound  = 500 * time.Millisecond
	longestRun    = 10 * time.Minute
)

// measureEndpoints measures the selected endpoints of the given configuration, and lists those that
// cannot be measured.
func (r *run) measureEndpoints(ctx context.Context) error {
	if err := r.validate(ctx); err != nil {
		return err
	}
	spec := r.loader().Load(r.opts.Config...)
	if err := spec.Problems.Err(); err != nil {
		return err
	}
	r.progressf("requests for %s", wording.Count(len(spec.Endpoints), "endpoint"))
	s, err := r.startServer(ctx, r.opts.Config, "--no-webhooks", "--no-latency", "--no-faults")
	if err != nil {
		return err
	}
	defer func() { s.kill() }()
	candidate := s.side(nameOfCandidate)
	subjects, err := r.subjects(ctx, candidate, spec.Endpoints)
	if err != nil {
		return err
	}
	for i := range spec.WebSockets {
		if e := spec.WebSockets[i].Asking(); r.selects(e) {
			r.listed = append(r.listed, unasked{"WebSocket " + e.Path.Value, "bench loads only plain requests, not WebSockets"})
		}
	}
	if err := r.fit(len(subjects)); err != nil {
		return err
	}
	for _, sub := range subjects {
		r.progressf("%s", sub.name)
		if err := r.measure(ctx, candidate, sub); err != nil {
			return fmt.Errorf("%s: %w", sub.name, err)
		}
	}
	if len(subjects) == 0 {
		return errors.New("no endpoint could be measured")
	}
	return nil
}

// loader returns a Loader that reads the same documents, with the same paths, as the server with its
// flags.
func (r *run) loader() config.Loader {
	set, err := settings.Read(append([]string{"serve"}, r.opts.Server...), func(string) string { return "" })
	if err != nil {
		set.Loader = config.Loader{} // validate reports invalid flags
	}
	set.Loader.SampleRequests, set.Loader.Upstream = true, "" // --upstream declares no endpoint to measure
	return set.Loader
}

// validate has the server check the configuration and report the errors.
func (r *run) validate(ctx context.Context) error {
	args := []string{"validate"}
	for _, path := range r.opts.Config {
		args = append(args, "--config", path)
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.opts.Program, append(args, r.opts.Server...)...)
	cmd.Env = serverEnvironment(r.opts.Environ)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(log.String()); text != "" {
			return errors.New(text)
		}
		return fmt.Errorf("validate the configuration: %w", err)
	}
	return nil
}

// fit chooses the length of the rounds, unless it is given, so that measuring all endpoints takes
// about a minute. It fails if measuring them would take more than longestRun.
func (r *run) fit(endpoints int) error {
	loads := (2*r.opts.Rounds + 1) * max(endpoints, 1) // plus the warm-up
	if r.opts.Duration == 0 {
		r.opts.Duration = min(max(endpointsTime/time.Duration(loads)-shortestRound, shortestRound), longestRound)
	}
	if takes := time.Duration(loads) * (r.opts.Duration + warmup(r.opts.Duration)); takes > longestRun {
		return fmt.Errorf("%s would take %s; choose fewer with --endpoint, or reduce --rounds or --duration", wording.Count(endpoints, "endpoint"), takes.Round(time.Second))
	}
	return nil
}

// subjects checks the requests on the server itself, and turns them into subjects. Endpoints that
// cannot be measured are added to r.listed.
func (r *run) subjects(ctx context.Context, candidate side, endpoints []item.Endpoint) ([]*subject, error) {
	o := newOracle(endpoints, r.opts.Environ)
	var subjects []*subject
	for i := range endpoints {
		e := &endpoints[i]
		if !r.selects(e) {
			continue
		}
		found := o.requestOf(e, i)
		if found == nil {
			r.listed = append(r.listed, unasked{named(e), whyNot(e)})
			continue
		}
		if why := e.Varies(r.opts.Connections); why != "" {
			r.listed = append(r.listed, unasked{named(e), why})
			continue
		}
		all := statuses(e)
		a := preparedRequest{line: found.line(), wire: found.wire(), response: declaredResponse{Status: all[0], Also: all}}
		wants, sample, err := checkResponses(ctx, candidate.address, []preparedRequest{a}, true)
		var wrong *wrongResponse
		external := slices.ContainsFunc(e.AllResponses(), func(resp *item.Response) bool { return resp.External != nil })
		switch {
		case errors.As(err, &wrong) && (external || len(e.Find)+len(e.Do) > 0): // it needs a file or row that may not exist
			r.listed = append(r.listed, unasked{named(e), fmt.Sprintf("its answer to the request made from its declaration, %s, is not the declared one: %s", wrong.request, wrong.got)})
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", named(e), err)
		}
		if e.EffectiveMethod() == "HEAD" {
			wants[0].Length = 0
		}
		if what := leftOut(e); what != "" {
			if len(r.opts.Rivals) > 0 {
				what += "; rivals are measured as their commands start them"
			}
			r.notes = append(r.notes, named(e)+": "+what)
		}
		subjects = append(subjects, &subject{
			name: named(e), shows: a.line, asked: []preparedRequest{a}, wants: wants, sample: sample,
		})
	}
	return subjects, nil
}

// named returns a name that distinguishes endpoints with the same method and path.
func named(e *item.Endpoint) string {
	name := nameOf(e)
	if e.Host != "" {
		name = e.EffectiveMethod() + " " + e.Host + e.Path.Value
	}
	if e.If.Value != "" {
		name += " if " + wording.Clip(strings.Join(strings.Fields(e.If.Value), " "))
	}
	return name
}

// whyNot returns why there is no request for an endpoint.
func whyNot(e *item.Endpoint) string {
	what := "another endpoint answers the request made from its declaration"
	if e.If.Value != "" {
		what = "its condition does not hold for the request made from its declaration"
	}
	return fmt.Sprintf("%s: %s", e.Pos, what)
}
