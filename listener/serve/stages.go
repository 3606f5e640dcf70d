package serve

import (
	"fmt"
	"log/slog"

	"mockserver/internal/semantics"
	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// serve answers a request in the calling goroutine, unless the call waits when it returns. It loads
// the snapshot once, so that a reload in the meantime does not affect the request.
func (s *Server) serve(c *call) {
	s.begin(c)
	defer s.finish(c)
	c.paced = c.paced && !c.isOptions()
	sn := c.world
	if sn == nil {
		sn = s.snapshot.Load()
	}
	if c.world == nil && s.upgrade(sn, c) {
	} else if i := sn.match(c); i >= 0 && sn.Responses[i].AnyMethod && s.replyDeclared(sn, c, &sn.Responses[i]) {
	} else if i >= 0 {
		s.serveMatched(&sn.Responses[i], c, true)
		if c.isOptions() && c.Reply.Passed == nil {
			addAllow(sn, c)
		}
	} else {
		s.fallBack(sn, c)
	}
	if !c.waits {
		s.complete(c)
	}
}

// match returns the endpoint for a request, as Match does. It calls Match only the first time for
// each request, because random values and counters in conditions would be different the second
// time.
func (sn *world) match(c *call) int {
	if c.world == nil {
		c.world, c.matched = sn, sn.Table.Match(&c.Request, methodOf(&c.Request))
	}
	return c.matched
}

// begin sets the limit for the texts of a request, and records that the request is in progress. It
// is called for every request; finish is its counterpart.
func (s *Server) begin(c *call) {
	c.MaxText = s.MaxResponse
	if s.Recorder == nil {
		return
	}
	if !c.direct { // otherwise it may have to begin again
		s.arrive(c)
	}
	if !c.immediate {
		s.Recorder.Enter(c.peer.Shard())
	}
}

// serveMatched answers a request that an endpoint matches, with or without rules. The webhooks are
// triggered only if notify is true.
func (s *Server) serveMatched(a *compile.Response, c *call, notify bool) {
	c.Trace.Endpoint, c.Trace.Counters = a.Name, a.Counters
	if conn, _ := c.peer.(*wire.Connection); conn != nil && !a.Direct { // it may wait, which earlier responses must not
		_ = conn.Flush() // if this fails, so does writing the response
	}
	if a.Streams && c.In.Protocol != matcher.HTTP2 { // its connection gives up the buffers of the request
		c.kept = c.Keep(c.kept[:0])
	}
	if a.Rules != nil && (a.Disturbed || a.Operation.MayDiffer(&c.Request, c.peer)) {
		s.disturb(a, c, notify)
		return
	}
	given := s.respond(a, c)
	if !notify {
		given = nil
	}
	if c.flow != nil {
		c.rest.given = given
		s.stream(c, c.arrival(), traffic.Wait{})
	} else if given != nil {
		s.notify(given, c)
	}
}

// disturb does what answer does, for a request with rules. The reply is made before the wait, so
// that the latency includes the work of making it.
func (s *Server) disturb(a *compile.Response, c *call, notify bool) {
	a.Rules.Begin(&c.Random)
	limit, ok := a.Rules.Admit(&c.Request, &c.Reply, &c.Trace)
	w := &c.rest
	w.rules, w.limit = a.Rules, limit
	defer c.settle() // whatever the answer is
	if !ok || a.Rules.Tokens != nil && !c.take(a) {
		return
	}
	var chosen *compile.Response
	if a.Operation != nil {
		var done bool
		if chosen, done = a.Operation.Choose(&c.Request, &c.Reply); done {
			return
		}
	}
	begun := c.arrival()
	if place := (traffic.Held{Capacity: a.Rules.Capacity, Use: w.held.Use}); place.Capacity != nil {
		if begun, ok = place.Enter(c.waiter(), begun, &c.Reply, &c.Trace); !ok {
			return
		}
		w.held = place
	}
	drawn := a.Rules.Draw(&c.Request) // before the reply, which may also draw random numbers
	c.buffered, w.fault = drawn.Fault != nil && !drawn.Fault.OnlyStreams, drawn.Fault
	switch {
	case chosen != nil:
	case a.Outcomes != nil:
		chosen = &a.Outcomes[drawn.Outcome]
	default:
		chosen = a
	}
	given := s.respondDrawn(chosen, drawn.Instead, c)
	if w.fault != nil && w.fault.OnlyStreams && !c.isStream() {
		w.fault, drawn.Fault = nil, nil
	}
	if notify {
		w.given = given
	}
	if c.flow != nil {
		if drawn.Fault == nil || !drawn.Fault.IsBeforeHead() {
			s.stream(c, begun, drawn.Wait)
			return
		}
		drawn.Wait = c.flow.drop(drawn.Wait, &c.Request)
	}
	if drawn.Timed {
		s.wait(c, a, begun, drawn.Length)
	} else {
		s.proceed(c, false)
	}
}

// take takes the tokens that a request uses. It reports whether the request is to be served; if not, it was answered.
func (c *call) take(a *compile.Response) bool {
	use := new(traffic.TokenUse)
	use.Prompt, use.Most, use.Answer = a.Model.Tokens(&c.Request)
	c.rest.limit.Use = use
	if !a.Rules.Tokens.Take(use, &c.Request, &c.Reply) {
		c.Trace.Limited = true
		return false
	}
	c.rest.held.Use = use
	return true
}

// respondDrawn makes the reply of an endpoint with rules, or the injected failure instead of it. It returns
// the answer whose webhooks follow; nil for none.
func (s *Server) respondDrawn(chosen *compile.Response, instead *reply.Preset, c *call) *compile.Response {
	if instead == nil {
		return s.respond(chosen, c)
	}
	instead.Fill(&c.Reply)
	c.Trace.Instead = instead.Refusal.Code
	if len(chosen.Hooks) == 0 {
		return nil
	}
	c.values = chosen.Lets.Make(c.values, &c.Request)
	return chosen
}

// isStream reports whether the reply is sent piece by piece.
func (c *call) isStream() bool { return c.Reply.Streamed || c.flow != nil && !c.flow.stream.Whole }

// methodOf returns the request's method, without a copy if it is one that can be declared.
func methodOf(r *matcher.Request) string {
	m := r.Method()
	for _, known := range semantics.Methods {
		if string(m) == known {
			return known
		}
	}
	return string(m)
}

// finish records the request. It recovers from a panic: a panic while serving the request becomes a
// 500 and affects no other request. For a panic before or after that, see serveConnection.
func (s *Server) finish(c *call) {
	if p := recover(); p != nil {
		c.panicked, c.waits, c.flow = true, false, nil
		c.endPassing()
		message := fmt.Sprint(p)
		reply.InternalError.Write(&c.Reply, "a defect of the server, see its log: "+message)
		s.allowOrigin(c)
		s.logPanic("panic while serving a request", c.Trace.Endpoint, p, message,
			slog.String("method", string(c.In.Method)), slog.String("uri", string(c.In.Target)))
		if s.AccessLog {
			s.logAccess(c, c.peer.HasLeft(), slog.String("code", reply.InternalError.Code))
		}
	}
	if s.Recorder != nil && !c.waits && !c.passesOn() {
		s.record(c, c.peer.HasLeft())
	}
}

// record records the request, unless it is to be answered again.
func (s *Server) record(c *call, left bool) {
	if !c.immediate {
		s.Recorder.Leave(c.peer.Shard())
	}
	if c.again {
		return
	}
	if c.direct {
		s.arrive(c)
	}
	took := c.took()
	s.leave(c, took)
	if f := c.flow; f != nil && !f.stream.Whole {
		took = f.took
	} else if c.passesOn() {
		took = c.passing.took
	}
	s.Recorder.End(&c.In, &c.Reply, &c.Trace, c.peer.Shard(), took, left)
}

// respond applies the changes of an answer, and makes its reply. It returns the answer that was
// sent, which is another one if the rows that the request read have changed. It returns nil if the
// client has left, or if the reply is an error or the answer declared for a change that is not
// possible.
func (s *Server) respond(a *compile.Response, c *call) *compile.Response {
	if a.Model != nil {
		a.Model.Answer(&c.Request)
	}
	c.values = a.Lets.Make(c.values, &c.Request)
	if a.Changes != nil {
		if a = s.change(a, c); a == nil {
			return nil
		}
	}
	whole := a.Resource == nil && s.write(a, c) || a.Resource != nil && s.serveRows(a, c)
	if c.Stopped == nil && whole {
		return a
	}
	if c.Stopped != nil && c.Stopped != renderer.ErrLeft { // otherwise the client has left
		f, err := s.unfinished(c.Stopped)
		f.Write(&c.Reply, a.Name+": "+err.Error())
		s.logServerError(f, a, err)
	}
	return nil
}

// write makes the reply of an answer. It reports whether it succeeded; if not, the reply says why,
// unless the client has left.
func (s *Server) write(a *compile.Response, c *call) bool {
	if a.Proxy.Takes(&c.Request) {
		return s.pass(a, c)
	}
	c.Reply.Status = a.Status
	a.AddHeaders(&c.Reply, &c.Request)
	switch {
	case a.Stream != nil:
		return s.writeStream(a, c)
	case !a.Template.IsNone():
		c.Reply.Render(&a.Template, &c.Request)
	case a.Source != nil:
		return s.respondExternal(a, c)
	default:
		c.Reply.Body = a.Static
	}
	c.Reply.ContentType = a.ContentType
	return true
}

// respondExternal replies with an external body, or with the reason why it is not available. If the
// body does not exist and the answer has a proxy, the request is passed on.
func (s *Server) respondExternal(a *compile.Response, c *call) bool {
	body, err := a.Source.Body(&c.Request)
	c.Trace.Upstream = body.Waited
	switch {
	case c.Stopped != nil:
		return false
	case err != nil && a.Proxy != nil && reply.OfBody(err) == reply.BodyNotFound:
		return s.pass(a, c)
	case err != nil:
		f := reply.OfBody(err)
		f.Write(&c.Reply, err.Error())
		s.logServerError(f, a, err)
		return false
	}
	if body.Template != nil {
		t := body.Template.Ready()
		c.Reply.Render(&t, &c.Request)
	} else {
		c.Reply.Body = body.Bytes
	}
	c.Reply.ContentType = a.ContentType
	if body.ContentType != "" && !a.TypeDeclared {
		c.Reply.ContentType = body.ContentType
	}
	return true
}
