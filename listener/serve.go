package listener

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/listener/record"
	"mockserver/matcher"
	"mockserver/renderer"
)

// serve is the one handler: a request through the stages, in the goroutine of its
// connection. It loads the snapshot once, so that a request sees one world
// whatever a reload does meanwhile.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	r := receive(ctx)
	r.MaxText = s.opts.MaxResponse
	var c record.Trace
	defer s.finish(ctx, r, &c)
	if s.recorder != nil {
		shard, _ := shardOf(ctx)
		s.recorder.Begin(shard)
	}
	sn := s.snapshot.Load()
	if s.upgrade(sn, r, &c) {
	} else if i := sn.table.Match(r, method(r)); i >= 0 {
		a := &sn.answers[i]
		c.Endpoint, c.Counters = a.name, a.counters
		if a.behaviour != nil && a.behaviour.concerns(r) {
			s.behave(a.behaviour, r, &c, true)
		} else if s.respond(a, r) && len(a.hooks) > 0 {
			s.notify(a, r)
		}
		if ctx.IsOptions() {
			addAllow(sn, r)
		}
	} else {
		s.fallBack(sn, r, &c)
	}
	s.allowOrigin(r)
	if s.opts.AccessLog {
		s.logServed(r)
	}
}

// receive is the request that ctx holds, which its answer goes to.
func receive(ctx *fasthttp.RequestCtx) *matcher.Request {
	h := &ctx.Request.Header
	in := matcher.Input{
		Method: h.Method(), Target: h.RequestURI(), Host: h.Host(), Header: h.RawHeaders(), Body: ctx.Request.Body(),
		HTTP10: !h.IsHTTP11(), Remote: ctx.RemoteAddr(), Time: ctx.Time(),
	}
	if c, ok := ctx.Conn().(*connection); ok {
		in.Peer = c
	}
	r := matcher.Acquire(in)
	r.Ctx = ctx
	return r
}

// connectionOf is the connection that a request came by; nil in a test.
func connectionOf(r *matcher.Request) *connection {
	c, _ := r.In.Peer.(*connection)
	return c
}

// logServed writes the line of a request to the access log. The status of one that was
// not answered, because its client left, is that which nginx logs then.
func (s *Server) logServed(r *matcher.Request) {
	if hasLeft(r) {
		r.Ctx.Response.Reset()
		r.Ctx.SetStatusCode(record.StatusLeft)
	}
	s.logAccess(r.Ctx, slog.Duration("took", time.Since(r.In.Time)))
}

// shardOf is the shard of the connection of a request; of one of a test the first.
func shardOf(ctx *fasthttp.RequestCtx) (uint32, *connection) {
	if c, ok := ctx.Conn().(*connection); ok {
		return c.shard, c
	}
	return 0, nil
}

// method is the request's method, without a copy when it is one that can be
// declared.
func method(r *matcher.Request) string {
	m := r.Method()
	for _, known := range config.Methods {
		if string(m) == known {
			return known
		}
	}
	return string(m)
}

// finish gives the request back. It is the only recover around a request: a panic
// while serving one answers 500 and harms no other. What panics before or behind that
// ends the connection, see serveConnection.
func (s *Server) finish(ctx *fasthttp.RequestCtx, r *matcher.Request, c *record.Trace) {
	if p := recover(); p != nil {
		// The request is not given back to its pool: nobody knows what state it is in.
		message := fmt.Sprint(p)
		internalError.write(ctx, "a defect of the server, see its log: "+message)
		s.allowOrigin(r)
		s.tellPanic("panic while serving a request", c.Endpoint, p, message,
			slog.String("method", string(r.In.Method)), slog.String("uri", string(r.In.Target)))
		if s.opts.AccessLog {
			s.logAccess(ctx, slog.String("code", internalError.code))
		}
	} else {
		matcher.Release(r)
	}
	if s.recorder != nil {
		shard, conn := shardOf(ctx)
		s.recorder.End(ctx, c, shard, conn != nil && conn.left)
	}
	ctx.Request.ReleaseBody(keptBody)
	if s.stopping.Load() && ctx.Response.StatusCode() != fasthttp.StatusSwitchingProtocols {
		ctx.SetConnectionClose()
	}
}

// respond writes the answer of an endpoint, and tells whether it was that one, and
// not why it cannot be had.
func (s *Server) respond(a *answer, r *matcher.Request) bool {
	whole := s.write(a, r)
	if r.Stopped == nil {
		return whole
	}
	if r.Stopped != renderer.ErrLeft { // nobody is there to be told otherwise
		f, err := s.unfinished(r.Stopped)
		f.write(r.Ctx, a.name+": "+err.Error())
		s.tellServerError(f, a, err)
	}
	return false
}

// unfinished is the failure that a template which was stopped answers with.
func (s *Server) unfinished(stopped error) (failure, error) {
	if stopped == renderer.ErrTooLarge {
		return responseTooLarge, fmt.Errorf("a template makes more than %s; see --max-response", sizeText(s.opts.MaxResponse))
	}
	return templateTooLong, stopped
}

// write is respond for answers that can be rendered whole.
func (s *Server) write(a *answer, r *matcher.Request) bool {
	resp := &r.Ctx.Response
	resp.SetStatusCode(a.status)
	if len(a.headers) > 0 {
		writeHeaders(&resp.Header, a.headers, r)
	}
	switch {
	case a.bodiless: // only a declared Content-Type is sent
	case a.source != nil:
		return s.respondExternal(a, r)
	case a.template != nil:
		render(resp, a.template, r)
	default:
		resp.SetBodyRaw(a.static)
	}
	if a.contentType != "" {
		resp.Header.SetContentType(a.contentType)
	}
	return true
}

// render writes the body that a template gives, in the room that the connection
// keeps for it. The room of a large one is not kept: a connection that stays open
// would hold it for as long. fasthttp's own limit is one for the whole process,
// which a host program may set for itself.
func render(resp *fasthttp.Response, t *renderer.Template, r *matcher.Request) {
	body := t.Append(resp.SwapBody(nil)[:0], r)
	if cap(body) > keptBody {
		resp.SetBodyRaw(body)
		return
	}
	resp.SwapBody(body)
}

// respondExternal writes a body that lives elsewhere, or says why it cannot be
// had.
func (s *Server) respondExternal(a *answer, r *matcher.Request) bool {
	resp := &r.Ctx.Response
	body, err := a.source.Body(r)
	switch {
	case r.Stopped != nil:
		return false
	case err != nil:
		f := ofBody(err)
		f.write(r.Ctx, err.Error())
		s.tellServerError(f, a, err)
		return false
	}
	if body.Template != nil {
		render(resp, body.Template, r)
	} else {
		resp.SetBodyRaw(body.Bytes)
	}
	switch {
	case body.ContentType != "" && !a.typeDeclared:
		resp.Header.SetContentType(body.ContentType)
	case a.contentType != "":
		resp.Header.SetContentType(a.contentType)
	}
	return true
}

// writeHeaders writes the declared headers with their names as spelt.
func writeHeaders(h *fasthttp.ResponseHeader, headers []header, r *matcher.Request) {
	h.DisableNormalizing()
	for i := range headers {
		d := &headers[i]
		if d.template == nil {
			h.Add(d.name, d.value)
			continue
		}
		r.Line = d.template.Append(r.Line[:0], r)
		h.AddBytesV(d.name, r.Line)
	}
	h.EnableNormalizing()
}
