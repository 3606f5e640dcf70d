package bench

import (
	"bytes"
	"fmt"
	"net"
	"strings"

	"mockserver/config/item"
	"mockserver/matcher"
	"mockserver/renderer"
)

// oracle finds which endpoint answers a request, as the server does.
type oracle struct{ table *matcher.Table }

// newOracle compiles the endpoints of a valid configuration. Conditions take variables from the
// environment, "NAME=value".
func newOracle(endpoints []item.Endpoint, environ []string) *oracle {
	env := func(name string) (string, bool) {
		for _, variable := range environ {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
	routes := make([]matcher.Route, len(endpoints))
	for i := range endpoints {
		e := &endpoints[i]
		pattern, _ := matcher.Path(e) // the server has checked it, and the condition
		scope := &renderer.Scope{Params: pattern.Params(), Env: env, Counters: &renderer.Counters{}}
		when, _ := renderer.CompileCondition(e.If, scope)
		routes[i] = matcher.Route{Endpoint: e, Pattern: pattern, If: when.Holds}
	}
	table, _ := matcher.Compile(routes)
	return &oracle{table}
}

// endpointOf returns the number of the endpoint that answers a request, or -1.
func (o *oracle) endpointOf(req *request) int {
	head, body, _ := bytes.Cut(req.wire(), []byte("\r\n\r\n"))
	line, lines, _ := bytes.Cut(head, []byte("\r\n"))
	words := bytes.Split(line, []byte{' '})
	in := matcher.Input{Method: words[0], Target: words[1], Header: append(lines, "\r\n"...), Body: body, Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	in.Host, _ = in.Header.Get("Host")
	r := matcher.Acquire(in)
	defer matcher.Release(r)
	number := o.table.Match(r, req.method())
	if number < 0 && req.method() == "HEAD" {
		number = o.table.Match(r, "GET")
	}
	return number
}

// requestsFor finds for each endpoint a request that it answers; nil if there is none. The requests
// of --requests come first, then one that is made from the declaration.
func (r *run) requestsFor(endpoints []item.Endpoint) ([]*request, error) {
	o := newOracle(endpoints, r.opts.Environ)
	found := make([]*request, len(endpoints))
	if r.opts.Requests != "" {
		given, err := readTargets(r.opts.Requests)
		if err != nil {
			return nil, err
		}
		for i := range given {
			t := &given[i]
			number := o.endpointOf(&t.request)
			if number < 0 {
				return nil, fmt.Errorf("%s:%d: no endpoint answers %s", r.opts.Requests, t.number, t.line())
			}
			if found[number] == nil {
				found[number] = &t.request
			}
		}
	}
	for i := range endpoints {
		if found[i] == nil && r.selects(&endpoints[i]) {
			found[i] = o.requestOf(&endpoints[i], i)
		}
	}
	return found, nil
}

// requestOf returns the request made from the declaration of an endpoint; nil if the endpoint does
// not answer it.
func (o *oracle) requestOf(e *item.Endpoint, number int) *request {
	req := sampleOf(e)
	if req.check() != nil || o.endpointOf(&req) != number {
		return nil
	}
	return &req
}

// selects reports whether an endpoint is to be measured.
func (r *run) selects(e *item.Endpoint) bool { return strings.Contains(nameOf(e), r.opts.Endpoint) }

func nameOf(e *item.Endpoint) string { return e.EffectiveMethod() + " " + e.Path.Value }
