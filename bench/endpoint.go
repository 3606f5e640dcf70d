package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config"
	"mockserver/internal/wording"
)

const (
	// mostTries is how many requests are tried for one endpoint.
	mostTries = 400
	// endpointsTime is what measuring the endpoints of a configuration takes, when no
	// duration is given and the rounds do not become too short for it.
	endpointsTime  = time.Minute
	shortestRound  = 50 * time.Millisecond
	longestRound   = 500 * time.Millisecond
	longestRun     = 10 * time.Minute
	endpointHeader = "X-Bench-Endpoint"
)

// unasked is an endpoint that was not measured, and why.
type unasked struct{ endpoint, why string }

// endpoints measures each endpoint of the configuration that was given.
func (r *run) endpoints(ctx context.Context) error {
	if err := r.validate(ctx); err != nil {
		return err
	}
	spec := config.Load(r.opts.Config...)
	if err := spec.Problems.Err(); err != nil {
		return err
	}
	r.progress.say("looking for requests for %s", wording.Count(len(spec.Endpoints), "endpoint"))
	found, err := r.requestsFor(ctx, spec.Endpoints)
	if err != nil {
		return err
	}
	s, err := r.startServer(ctx, r.opts.Config, "--no-webhooks")
	if err != nil {
		return err
	}
	defer func() { s.kill() }()
	candidate := side{address: s.address, pid: s.pid, server: s}
	subjects, err := r.subjects(ctx, candidate, spec.Endpoints, found)
	if err != nil {
		return err
	}
	for i := range spec.WebSockets {
		if e := spec.WebSockets[i].Asking(); r.asked(e) {
			r.listed = append(r.listed, unasked{"WebSocket " + e.Path.Value, "bench loads plain requests, and no WebSockets"})
		}
	}
	if err := r.fit(len(subjects)); err != nil {
		return err
	}
	defer r.dearest() // of what was measured, whatever ends it
	for _, sub := range subjects {
		r.progress.say("%s", sub.name)
		if _, err := r.measure(ctx, candidate, sub); err != nil {
			return fmt.Errorf("%s: %w", sub.name, err)
		}
	}
	if len(subjects) == 0 {
		return errors.New("no endpoint could be measured")
	}
	return nil
}

// validate has the server say what is wrong with the configuration, in its words.
func (r *run) validate(ctx context.Context) error {
	args := []string{"validate"}
	for _, path := range r.opts.Config {
		args = append(args, "--config", path)
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.opts.Program, append(args, r.opts.Server...)...)
	cmd.Env = serverEnvironment(r.opts.Environ)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return errors.New(text)
		}
		return fmt.Errorf("validate the configuration: %w", err)
	}
	return nil
}

// fit chooses how long rounds are, so that all endpoints take a minute.
func (r *run) fit(endpoints int) error {
	sides := 2 * r.opts.Rounds * max(endpoints, 1)
	if r.opts.Curve {
		sides *= len(curveShares)
	}
	if r.opts.Duration == 0 {
		r.opts.Duration = min(max(endpointsTime/time.Duration(sides)-shortestRound, shortestRound), longestRound)
	}
	if takes := time.Duration(sides) * (r.opts.Duration + warmup(r.opts.Duration)); takes > longestRun {
		return fmt.Errorf("%s would take %s; fewer can be chosen with --endpoint, and --rounds and --duration made smaller", wording.Count(endpoints, "endpoint"), takes.Round(time.Second))
	}
	return nil
}

// requestsFor finds for each endpoint a request that it answers; nil for none. Which
// endpoint answers is asked of the server itself, with a configuration of the same
// endpoints whose answers say which they are.
func (r *run) requestsFor(ctx context.Context, endpoints []config.Endpoint) ([]*request, error) {
	who := make([]any, len(endpoints))
	for i := range endpoints {
		who[i] = identified(&endpoints[i], i)
	}
	file := filepath.Join(r.dir, "who.json")
	if err := writeConfiguration(file, who); err != nil {
		return nil, err
	}
	s, err := r.startServer(ctx, []string{file})
	if err != nil {
		return nil, err
	}
	defer s.kill()
	oracle := &oracle{caller: caller{address: s.address}}
	defer oracle.close()
	found := make([]*request, len(endpoints))
	if err := r.given(ctx, oracle, endpoints, found); err != nil {
		return nil, err
	}
	for i := range endpoints {
		if found[i] != nil || !r.asked(&endpoints[i]) {
			continue
		}
		if found[i], err = oracle.request(ctx, endpoints, i); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// asked tells whether an endpoint is to be measured.
func (r *run) asked(e *config.Endpoint) bool { return strings.Contains(nameOf(e), r.opts.Endpoint) }

func nameOf(e *config.Endpoint) string { return e.EffectiveMethod() + " " + e.Path.Value }

// identified is an endpoint as a file declares it, with an answer that says which it is.
func identified(e *config.Endpoint, number int) any {
	m := map[string]any{
		"method": e.EffectiveMethod(),
		"path":   plainPath(e),
		"response": map[string]any{
			"template": false, "headers": map[string]any{endpointHeader: strconv.Itoa(number)},
		},
	}
	if e.Host != "" {
		m["host"] = e.Host
	}
	if e.If.Value != "" {
		m["if"] = e.If.Value
	}
	return map[string]any{"endpoint": m}
}

// given takes the requests of the file of --requests: each for the endpoint that
// answers it.
func (r *run) given(ctx context.Context, o *oracle, endpoints []config.Endpoint, found []*request) error {
	if r.opts.Requests == "" {
		return nil
	}
	text, err := os.ReadFile(r.opts.Requests)
	if err != nil {
		return err
	}
	var requests []request
	if err := strictly(text, &requests); err != nil {
		return fmt.Errorf("%s: %w", r.opts.Requests, err)
	}
	for i := range requests {
		if err := requests[i].check(); err != nil {
			return fmt.Errorf("%s: [%d]: %w", r.opts.Requests, i, err)
		}
		number, err := o.answering(ctx, &requests[i])
		switch {
		case err != nil:
			return err
		case number < 0 || number >= len(endpoints):
			return fmt.Errorf("%s: [%d]: no endpoint answers %s", r.opts.Requests, i, requests[i].line())
		case found[number] == nil:
			found[number] = &requests[i]
		}
	}
	return nil
}

// oracle tells which endpoint answers a request.
type oracle struct{ caller }

// answering is the number of the endpoint that answers; -1 is none.
func (o *oracle) answering(ctx context.Context, req *request) (int, error) {
	got, err := o.call(ctx, req.wire())
	if err != nil {
		return -1, fmt.Errorf("which endpoint answers %s: %w", req.line(), err)
	}
	number, err := strconv.Atoi(got.header.Get(endpointHeader))
	if err != nil {
		return -1, nil
	}
	return number, nil
}

// request looks for a request that the endpoint answers; nil is none.
func (o *oracle) request(ctx context.Context, endpoints []config.Endpoint, number int) (*request, error) {
	e := &endpoints[number]
	tried := map[string]bool{}
	var found *request
	var failed error
	try := func(d *draft) bool {
		req := d.request()
		wire := string(req.wire())
		if req.check() != nil || tried[wire] {
			return false
		}
		tried[wire] = true
		answering, err := o.answering(ctx, &req)
		if err != nil {
			failed = err
		}
		if answering == number {
			found = &req
		}
		return failed != nil || found != nil || len(tried) >= mostTries
	}
	drafts(e, rivals(endpoints, number), try)
	return found, failed
}

// rivals are the endpoints that may answer first: of the same method and with a
// condition, declared before.
func rivals(endpoints []config.Endpoint, number int) []condition {
	e := &endpoints[number]
	var conditions []condition
	for i := number - 1; i >= 0; i-- {
		other := &endpoints[i]
		if other.If.Value == "" || other.EffectiveMethod() != e.EffectiveMethod() || shape(other) != shape(e) {
			continue
		}
		if c, ok := readCondition(other.If.Value); ok {
			conditions = append(conditions, c)
		}
	}
	slices.Reverse(conditions)
	return conditions
}

// shape is a path without the names of its parameters.
func shape(e *config.Endpoint) string {
	segments := strings.Split(plainPath(e), "/")
	for i, s := range segments {
		if strings.HasPrefix(s, ":") || strings.HasPrefix(s, "*") {
			segments[i] = s[:1]
		}
	}
	return strings.Join(segments, "/")
}

// plainPath is the path of an endpoint as one is declared. Of a segment of an OpenAPI
// document that has parameters beside other text the whole is the first of them.
func plainPath(e *config.Endpoint) string {
	if !e.Template {
		return e.Path.Value
	}
	segments := strings.Split(e.Path.Value, "/")
	for i, s := range segments {
		_, behind, opened := strings.Cut(s, "{")
		name, _, closed := strings.Cut(behind, "}")
		if opened && closed {
			segments[i] = ":" + name
		} else {
			segments[i] = escapedLiteral(s)
		}
	}
	return strings.Join(segments, "/")
}

// drafts makes requests that the endpoint may answer, the likeliest first, until one
// is taken: its condition met in each of the ways there are, and those of its rivals
// not met; with and without a value for everything its answer is made of.
func drafts(e *config.Endpoint, rivals []condition, take func(d *draft) bool) {
	ways := [][]wish{nil}
	if c, ok := readCondition(e.If.Value); ok && e.If.Value != "" {
		ways = c.ways(true)
	}
	for variant := range 6 {
		for _, against := range []int{0, 1, -1, 2, 3} {
			if draftsOf(e, ways, avoided(rivals, against), variant, take) {
				return
			}
		}
	}
}

// draftsOf gives those of one variant, and tells whether one was taken.
func draftsOf(e *config.Endpoint, ways [][]wish, against []wish, variant int, take func(d *draft) bool) bool {
	for _, way := range ways {
		for _, filling := range []func(d *draft){full, example, bare} {
			d := newDraft(e)
			filling(d)
			d.grant(way, against, variant)
			if take(d) {
				return true
			}
		}
	}
	return false
}

// avoided are wishes that the conditions of rivals are not met, each in the nth of the
// ways there are; none for -1.
func avoided(rivals []condition, n int) []wish {
	var wishes []wish
	for i := range rivals {
		if ways := rivals[i].ways(false); n >= 0 && len(ways) > 0 {
			wishes = append(wishes, ways[min(n, len(ways)-1)]...)
		}
	}
	return wishes
}

func bare(d *draft) { d.find() }

func full(d *draft) {
	example(d)
	d.fill()
	d.find()
}

// example takes the example of a body that documents the endpoint.
func example(d *draft) {
	if text := d.endpoint.Doc.Body; text != "" {
		d.setJSON("", text, false)
		d.raw = text
	}
	d.find()
}

// subjects checks the requests on the server itself, and makes subjects of them. What
// is not answered as declared is listed.
func (r *run) subjects(ctx context.Context, candidate side, endpoints []config.Endpoint, found []*request) ([]*subject, error) {
	var subjects []*subject
	for i := range endpoints {
		e := &endpoints[i]
		if !r.asked(e) {
			continue
		}
		if found[i] == nil {
			r.listed = append(r.listed, unasked{named(e), whyNot(e)})
			continue
		}
		if why := unsteady(e, r.opts.Connections); why != "" {
			r.listed = append(r.listed, unasked{named(e), why})
			continue
		}
		a := asked{line: found[i].line(), wire: found[i].wire(), answer: declaredAnswer{Status: statusOf(&likely(e)[0].Response)}}
		wants, sample, err := check(ctx, candidate.address, []asked{a}, true)
		var wrong *wrongAnswer
		switch {
		case errors.As(err, &wrong) && externalOf(e) != nil: // it lies elsewhere, and may not be there
			r.listed = append(r.listed, unasked{named(e), fmt.Sprintf("its answer to %s is not the declared one: %s", wrong.request, wrong.got)})
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", named(e), err)
		}
		if e.EffectiveMethod() == "HEAD" {
			wants[0].Length = 0
		}
		if what := bounded(e); what != "" {
			r.notes = append(r.notes, named(e)+": "+what)
		}
		subjects = append(subjects, &subject{
			name: named(e), shows: a.line, requests: [][]byte{a.wire}, wants: wants, sample: sample,
			costs: costs(e, found[i], &sample, len(rivals(endpoints, i)), r.opts.Server),
		})
	}
	return subjects, nil
}

// externalOf is the first external body that an endpoint answers with; nil for none.
func externalOf(e *config.Endpoint) *config.ExternalBody {
	for _, resp := range e.Answers() {
		if resp.External != nil {
			return resp.External
		}
	}
	return nil
}

// named tells endpoints of one method and path apart.
func named(e *config.Endpoint) string {
	name := nameOf(e)
	if e.Host != "" {
		name = e.EffectiveMethod() + " " + e.Host + e.Path.Value
	}
	if e.If.Value != "" {
		text := strings.Join(strings.Fields(e.If.Value), " ")
		const most = 40
		if letters := []rune(text); len(letters) > most {
			text = string(letters[:most-1]) + "…"
		}
		name += " if " + text
	}
	return name
}

// whyNot says why there is no request for an endpoint, and what helps.
func whyNot(e *config.Endpoint) string {
	what := "no request was found that it answers, and not another endpoint"
	if e.If.Value != "" {
		what = "no request was found that meets its condition, and is not answered by another endpoint"
	}
	return fmt.Sprintf("%s: %s; one can be given with --requests FILE", e.Pos, what)
}
