package bench

import (
	"bytes"
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

// requestOf returns the request made from the declaration of an endpoint; nil if the endpoint does
// not answer it.
func (o *oracle) requestOf(e *item.Endpoint, number int) *request {
	req := sampleOf(e)
	if !req.isValid() || o.endpointOf(&req) != number {
		return nil
	}
	return &req
}
