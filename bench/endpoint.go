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
	alike := alikeIn(endpoints)
	var subjects []*subject
	for i := range endpoints {
		e := &endpoints[i]
		if !r.selects(e) {
			continue
		}
		found, all, why := sampleOf(e), statuses(e), e.Varies(r.opts.Connections)
		if !found.isValid() {
			why = "the request made from its declaration cannot be sent"
		}
		if why != "" {
			r.listed = append(r.listed, unasked{named(e), why})
			continue
		}
		a := preparedRequest{line: found.line(), wire: found.wire(), response: declaredResponse{Status: all[0], Also: all}}
		wants, sample, err := checkResponses(ctx, candidate.address, []preparedRequest{a}, true)
		var wrong *wrongResponse
		switch {
		case errors.As(err, &wrong): // it may need a file or a row that does not exist
			r.listed = append(r.listed, unasked{named(e), fmt.Sprintf("its answer to the request made from its declaration, %s, is not the declared one: %s", wrong.request, wrong.got)})
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", named(e), err)
		case isAmbiguous(e, alike[place(e)], sample.status):
			r.listed = append(r.listed, unasked{named(e), "another endpoint may have answered the request made from its declaration, with the same status"})
			continue
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

// alikeIn returns the endpoints to which the same request is made, by its line and their host.
func alikeIn(endpoints []item.Endpoint) map[string][]*item.Endpoint {
	all := map[string][]*item.Endpoint{}
	for i := range endpoints {
		e := &endpoints[i]
		all[place(e)] = append(all[place(e)], e)
	}
	return all
}

func place(e *item.Endpoint) string {
	sample := sampleOf(e)
	return e.Host + " " + sample.line()
}

// isAmbiguous reports whether another endpoint, or none, may have given an answer with a status.
func isAmbiguous(e *item.Endpoint, alike []*item.Endpoint, status int) bool {
	return e.If.Value != "" && (status == 404 || status == 405) ||
		slices.ContainsFunc(alike, func(other *item.Endpoint) bool { return other != e && slices.Contains(statuses(other), status) })
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

// selects reports whether an endpoint is to be measured.
func (r *run) selects(e *item.Endpoint) bool { return strings.Contains(nameOf(e), r.opts.Endpoint) }

func nameOf(e *item.Endpoint) string { return e.EffectiveMethod() + " " + e.Path.Value }
