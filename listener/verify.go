package listener

import (
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Verified is how many requests of the journal a condition holds for.
type Verified struct {
	Count int
	// Exact tells that the journal has every request since it was begun, or since it
	// was reset, with its whole body: otherwise there may have been more.
	Exact bool
	// Why says what is missing, when it is not exact.
	Why      string
	Examples []*Exchange // the newest, ten at most
}

// verifiedShown is how many requests are shown of those that were found.
const verifiedShown = 10

// Verify counts the requests of the journal that a condition holds for: one of the
// language of endpoint.if, in which the path parameters are those of the endpoint that
// answered. What the journal leaves out, secrets among the headers, is not there for the
// condition either. The error is a config.Problems.
func (s *Server) Verify(condition string) (Verified, error) {
	v := Verified{Exact: true}
	p := probe{env: s.opts.Env, condition: condition, tests: map[probed]func(*matcher.Request) bool{}}
	if _, err := p.test(nil); err != nil || s.recorder == nil {
		v.Exact, v.Why = false, "the server does not record"
		return v, err
	}
	if missing := s.recorder.journal.missing(); missing != "" {
		v.Exact, v.Why = false, missing
	}
	for _, x := range s.recorder.journal.all() {
		holds, err := p.test(x.route)
		if err != nil {
			return v, err
		}
		if x.Request.Cut {
			v.Exact, v.Why = false, "of some requests only the beginning was kept"
		}
		if !x.fits(holds) {
			continue
		}
		if v.Count++; len(v.Examples) < verifiedShown {
			v.Examples = append(v.Examples, x)
		}
	}
	return v, nil
}

// fits tells whether a test holds for a kept request.
func (x *Exchange) fits(test func(*matcher.Request) bool) bool {
	var ctx fasthttp.RequestCtx
	var remote net.Addr
	if at, err := netip.ParseAddrPort(x.Remote); err == nil {
		remote = net.TCPAddrFromAddrPort(at)
	}
	ctx.Init(new(fasthttp.Request), remote, nil)
	x.restore(&ctx.Request)
	r := matcher.Acquire(&ctx)
	defer matcher.Release(r)
	return test(r)
}

// probe makes tests of a condition: one for each path, as its parameters are that of
// the path.
type probe struct {
	env       func(string) (string, bool)
	condition string
	tests     map[probed]func(*matcher.Request) bool
}

// probed is the path of an endpoint.
type probed struct {
	path     string
	template bool // as OpenAPI writes it
}

// test is that for the requests of a path; nil is that of requests that no endpoint
// answered. The error is a config.Problems.
func (p *probe) test(route *config.Endpoint) (func(*matcher.Request) bool, error) {
	var of probed
	if route != nil {
		of = probed{route.Path.Value, route.Template}
	}
	if known := p.tests[of]; known != nil {
		return known, nil
	}
	var pattern matcher.Pattern
	if route != nil {
		pattern, _ = matcher.Path(route) // it was served
	}
	// Counters of its own: to ask counts nothing.
	scope := &renderer.Scope{Params: pattern.Params(), Env: p.env, Counters: &renderer.Counters{}}
	when, problems := renderer.CompileCondition(config.Plain(p.condition), scope)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	test := func(r *matcher.Request) bool { return when.Always() || when.Holds(r) }
	if route != nil {
		table, _ := matcher.Compile([]matcher.Route{{Endpoint: &config.Endpoint{}, Pattern: pattern, If: test}})
		test = func(r *matcher.Request) bool { return table.Match(r, fasthttp.MethodGet) >= 0 }
	}
	p.tests[of] = test
	return test, nil
}
