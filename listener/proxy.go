package listener

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/fetcher/upstream"
	"mockserver/internal/ascii"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/recording"
	"mockserver/listener/reply"
	"mockserver/renderer"
)

// proxies contains the upstreams of a server. They survive reloads.
type proxies struct {
	upstreams  upstream.Set
	recordings *recording.Set
	named      map[string]*upstream.Upstream // the upstreams of the specification being compiled, by name; nil for an invalid one
}

// compileUpstreams compiles the upstreams of a specification.
func (p *proxies) compileUpstreams(spec *config.Spec, env func(string) (string, bool)) (problems syntax.Problems) {
	if p.upstreams.Via == "" { // a server recognizes its own requests by this name
		p.upstreams.Via = upstream.Via(fmt.Sprintf("mockserver-%016x", rand.Uint64()))
	}
	p.upstreams.Begin()
	p.recordings.Begin()
	p.named = map[string]*upstream.Upstream{}
	for _, name := range spec.BrokenUpstreams {
		p.named[name] = nil
	}
	scope := &renderer.Scope{Env: env}
	for i := range spec.Upstreams {
		u, wrong := p.upstreams.Add(&spec.Upstreams[i], scope)
		problems = append(append(problems, wrong...), recording.Check(&spec.Upstreams[i], scope)...)
		p.named[spec.Upstreams[i].Name] = u
	}
	return problems
}

// proxy describes how an answer passes requests on.
type proxy struct {
	to        *upstream.Upstream
	tap       *recording.Tap
	path      *renderer.Template // the path to request; nil if it is fixed, or the request's own
	fixed     []byte             // the path if it is fixed; nil for the request's own
	forwarded bool
	missing   bool     // requests are passed on only if the answer itself has nothing to send
	finds     int      // how many rows must exist for the answer itself to be sent
	set       []string // the headers that the answer declares, which replace those of the upstream
}

// proxy compiles the proxy of an answer; nil for none.
func (c *compiler) proxy(e *item.Endpoint, scope *renderer.Scope) (*proxy, syntax.Problems) {
	declared := e.Response.Proxy
	if declared == nil {
		return nil, nil
	}
	to, known := c.named[declared.To.Value]
	if !known {
		var names []string
		for name := range c.named {
			names = append(names, name)
		}
		slices.Sort(names)
		what := fmt.Sprintf("there is no upstream %q%s", wording.Clip(declared.To.Value), wording.DidYouMean(declared.To.Value, names))
		return nil, syntax.Problems{{Pos: declared.To.Pos, Key: declared.To.Key, What: what}}
	}
	p := &proxy{to: to, tap: c.recordings.Tap(declared.To.Value), forwarded: declared.Forwarded, missing: declared.When == item.ProxyMissing}
	if p.missing {
		p.finds = len(e.Find)
	}
	var problems syntax.Problems
	if declared.Path.Value != "" {
		var text string
		text, p.path, problems = renderer.CompileText(declared.Path, renderer.URL, scope)
		p.fixed = []byte(text)
	}
	return p, problems
}

// proxies reports whether requests to the endpoint may be passed on.
func (a *answer) proxies() bool {
	return a.may(func(o *answer) bool { return o.proxy != nil })
}

// takes reports whether a request is passed on without looking up the answer's own content.
func (p *proxy) takes(c *call) bool {
	if p == nil || !p.missing {
		return p != nil
	}
	for i := range min(p.finds, len(c.Rows)) {
		if c.Rows[i].Kind == json.Missing {
			return true
		}
	}
	return false
}

// passing is an upstream's answer on its way to the client.
type passing struct {
	*upstream.Exchange // nil for none
	passed             reply.Passed
	coded              reply.Coded
	target             []byte
	taping             recording.Taping
}

// endPassing releases the exchange with an upstream.
func (c *call) endPassing() {
	if x := c.passing.Exchange; x != nil {
		c.passing.taping.End(x, recording.CodeLeft, record.StatusLeft) // the rest of its body was not read
		x.Free()
		c.passing.Exchange = nil
	}
}

// pass replies to a request with a recorded answer, or else passes the request on and replies with
// the upstream's response. It reports whether there was such an answer or response.
func (s *Server) pass(a *answer, c *call) bool {
	p := a.proxy
	c.endPassing()
	x := &c.passing
	var waited time.Duration
	if rec := p.tap.Recorder(); rec != nil {
		found, wait, err := x.taping.Begin(rec, &c.Request, uint64(c.peer.Shard()), c.waiter(), p.to.Deadline(time.Now()))
		if waited = wait; waited > 0 {
			c.trace.Proxied, c.trace.Upstream = true, waited
		}
		switch {
		case err != nil:
			return s.failPassing(a, c, err)
		case found != nil:
			s.serveRecorded(a, c, found)
			return true
		}
	}
	x.Exchange = upstream.NewExchange()
	asked := upstream.Asked{Request: &c.Request, Target: p.fixed, Forwarded: p.forwarded, Room: c.reply.Room, Waiter: c.waiter()}
	if p.path != nil {
		x.target = p.path.Append(x.target[:0], &c.Request)
		asked.Target = x.target
	}
	if c.whole || len(a.hooks) > 0 { // a fault or a webhook may need all of it
		asked.Most = int64(s.opts.MaxResponse)
	}
	begun := time.Now()
	err := p.to.Do(x.Exchange, &asked)
	c.trace.Proxied, c.trace.Upstream, c.trace.Place = true, max(waited+time.Since(begun), 1), x.Waited
	if err != nil {
		return s.failPassing(a, c, err)
	}
	x.taping.Answered(x.Exchange)
	c.reply.Fields = c.reply.Fields[:0]
	c.reply.Status, c.reply.Body, c.reply.Rendered = x.Status, x.Body, true
	x.coded = reply.Coded{Max: int64(s.opts.MaxResponse)}
	c.reply.Coded = &x.coded
	for _, f := range x.Fields {
		if !p.sets(f.Name) && !(c.whole && ascii.EqualFold(f.Name, "date")) { // other encoders write their own
			c.reply.Add(reply.Text(f.Name), reply.Text(f.Value))
		}
	}
	a.addHeaders(c)
	if a.typeDeclared {
		c.reply.ContentType = a.contentType
	}
	if !c.whole || c.isHead() {
		x.passed = reply.Passed{Reason: reply.Text(x.Reason), Length: x.Length, Whole: x.Whole}
		c.reply.Passed = &x.passed
	}
	return true
}

// ReadWatching reads the rest of the upstream's response. It returns upstream.ErrLeft as soon as the
// client leaves.
func (x *passing) ReadWatching(b []byte, w upstream.Waiter) (int, error) {
	n, err := x.Exchange.ReadWatching(b, w)
	if err == upstream.ErrLeft {
		x.taping.End(x.Exchange, recording.CodeLeft, record.StatusLeft)
	}
	x.taping.More(x.Exchange, b[:n], err == io.EOF, err != nil && err != io.EOF)
	return n, err
}

// sets reports whether the answer itself declares the header with the given name.
func (p *proxy) sets(name []byte) bool {
	for _, one := range p.set {
		if len(one) == len(name) && strings.EqualFold(one, reply.Text(name)) {
			return true
		}
	}
	return false
}

// failPassing answers a request that got no response from the upstream, unless the client has left.
// It returns false.
func (s *Server) failPassing(a *answer, c *call, err error) bool {
	f := reply.ProxyFailed
	switch {
	case errors.Is(err, upstream.ErrLeft):
		c.passing.taping.End(c.passing.Exchange, recording.CodeLeft, record.StatusLeft)
		c.reply.Status = record.StatusLeft
		return false
	case errors.Is(err, upstream.ErrTimeout):
		f = reply.ProxyTimeout
	case errors.Is(err, upstream.ErrLoop):
		f = reply.ProxyLoop
	case errors.Is(err, upstream.ErrUpgrade):
		f = reply.NotProxied
	}
	c.passing.taping.End(c.passing.Exchange, f.Code, f.Status)
	err = fmt.Errorf("upstream %s (%s): %w", a.proxy.to.Name, a.proxy.to.URL, err)
	f.Write(&c.reply, wording.Bounded(err.Error()))
	s.tellServerError(f, a, err)
	return false
}

// answerDeclared answers a HEAD or OPTIONS request that an endpoint for any method would otherwise
// answer: HEAD if its path also declares GET, and OPTIONS if its path also declares particular
// methods. It reports whether it did.
func (s *Server) answerDeclared(sn *snapshot, c *call) bool {
	if !c.isHead() && !c.isOptions() {
		return false
	}
	params := slices.Clone(c.Params())
	methods := []string{fasthttp.MethodGet}
	if c.isOptions() {
		methods = sn.table.OwnMethods(&c.Request)
	}
	for _, method := range methods {
		i := sn.table.Match(&c.Request, method)
		if i < 0 || sn.answers[i].anyMethod {
			continue
		}
		if c.isHead() {
			s.answer(&sn.answers[i], c, false)
			return true
		}
		c.trace.Counters = s.recorder.ForOptions()
		s.respondOptions(sn, c, methods)
		return true
	}
	c.Resume(params)
	return false
}

// serveRecorded sets the reply to a recorded answer.
func (s *Server) serveRecorded(a *answer, c *call, found *recording.Served) {
	c.reply.Fields = c.reply.Fields[:0]
	c.passing.coded = reply.Coded{Max: int64(s.opts.MaxResponse)}
	c.reply.Status, c.reply.Body, c.reply.Coded = found.Status, found.Body, &c.passing.coded
	for _, h := range found.Headers {
		if !a.proxy.sets([]byte(h[0])) {
			c.reply.Add(h[0], h[1])
		}
	}
	a.addHeaders(c)
	if a.typeDeclared {
		c.reply.ContentType = a.contentType
	}
}
