package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"mockserver/config"
)

// endpointHeader says in the answers of the oracle which endpoint gave them.
const endpointHeader = "X-Bench-Endpoint"

// oracle tells which endpoint answers a request: a server with the same endpoints, whose
// answers say which they are.
type oracle struct{ caller }

// requestsFor finds for each endpoint a request that it answers; nil for none. The requests
// of --requests come first, then one that is made from the declaration.
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
	if err := r.given(ctx, oracle, found); err != nil {
		return nil, err
	}
	for i := range endpoints {
		if found[i] != nil || !r.asked(&endpoints[i]) {
			continue
		}
		if found[i], err = oracle.request(ctx, &endpoints[i], i); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// request is the request made from the declaration of an endpoint; nil if the endpoint does
// not answer it.
func (o *oracle) request(ctx context.Context, e *config.Endpoint, number int) (*request, error) {
	req := sampleOf(e)
	if req.check() != nil {
		return nil, nil
	}
	if answering, err := o.answering(ctx, &req); err != nil || answering != number {
		return nil, err
	}
	return &req, nil
}

// given assigns the requests of the file of --requests, each to the endpoint that answers
// it.
func (r *run) given(ctx context.Context, o *oracle, found []*request) error {
	if r.opts.Requests == "" {
		return nil
	}
	requests, err := readTargets(r.opts.Requests)
	if err != nil {
		return err
	}
	for i := range requests {
		t := &requests[i]
		number, err := o.answering(ctx, &t.request)
		switch {
		case err != nil:
			return err
		case number < 0 || number >= len(found):
			return fmt.Errorf("%s:%d: no endpoint answers %s", r.opts.Requests, t.number, t.line())
		case found[number] == nil:
			found[number] = &t.request
		}
	}
	return nil
}

// answering is the number of the endpoint that answers; -1 for none.
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

// asked reports whether an endpoint is to be measured.
func (r *run) asked(e *config.Endpoint) bool { return strings.Contains(nameOf(e), r.opts.Endpoint) }

func nameOf(e *config.Endpoint) string { return e.EffectiveMethod() + " " + e.Path.Value }

// rivals is how many endpoints may answer before one: those of the same method and path
// with a condition that are declared before it.
func rivals(endpoints []config.Endpoint, number int) int {
	e, n := &endpoints[number], 0
	for i := range number {
		other := &endpoints[i]
		if other.If.Value != "" && other.EffectiveMethod() == e.EffectiveMethod() && shape(other) == shape(e) {
			n++
		}
	}
	return n
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

// plainPath is the path of an endpoint as one is declared. A segment of an OpenAPI document
// with parameters and other text becomes the first parameter.
func plainPath(e *config.Endpoint) string {
	if !e.Template {
		return e.Path.Value
	}
	segments := strings.Split(e.Path.Value, "/")
	for i, s := range segments {
		_, after, opened := strings.Cut(s, "{")
		name, _, closed := strings.Cut(after, "}")
		if opened && closed {
			segments[i] = ":" + name
		} else {
			segments[i] = escapedLiteral(s)
		}
	}
	return strings.Join(segments, "/")
}
