package listener

import (
	"fmt"
	"log/slog"
	"time"

	"mockserver/internal/semantics"
	"mockserver/listener/reply"
	"mockserver/listener/serve/traffic"
	"mockserver/matcher"
	"mockserver/renderer"
)

// serve answers a request in the calling goroutine. It loads the snapshot once, so that a reload in
// the meantime does not affect the request.
func (s *Server) serve(c *call) {
	s.begin(c)
	defer s.finish(c)
	sn := c.world
	if sn == nil {
		sn = s.snapshot.Load()
	}
	if c.world == nil && s.upgrade(sn, c) {
	} else if i := sn.match(c); i >= 0 && sn.answers[i].anyMethod && s.answerDeclared(sn, c) {
	} else if i >= 0 {
		s.answer(&sn.answers[i], c, true)
		if c.isOptions() && c.reply.Passed == nil {
			addAllow(sn, c)
		}
	} else {
		s.fallBack(sn, c)
	}
	if c.reply.Passed == nil {
		s.allowOrigin(c)
	}
	if s.opts.ServerTiming {
		c.reply.Add("Server-Timing", c.trace.ServerTiming(time.Since(c.In.Time)))
	}
	if s.opts.AccessLog {
		s.logAccess(c, slog.Duration("took", time.Since(c.In.Time)))
	}
}

// match returns the endpoint for a request, as Match does. It calls Match only the first time for
// each request, because random values and counters in conditions would be different the second
// time.
func (sn *snapshot) match(c *call) int {
	if c.world == nil {
		c.world, c.matched = sn, sn.table.Match(&c.Request, methodOf(&c.Request))
	}
	return c.matched
}

// begin sets the limit for the texts of a request, and records that the request is in progress. It
// is called for every request; finish is its counterpart.
func (s *Server) begin(c *call) {
	c.MaxText = s.opts.MaxResponse
	if s.recorder != nil && !c.brief {
		s.recorder.Enter(c.peer.Shard())
	}
}

// answer answers a request that an endpoint matches, with or without rules. The webhooks are
// triggered only if notify is true.
func (s *Server) answer(a *answer, c *call, notify bool) {
	c.trace.Endpoint, c.trace.Counters = a.name, a.counters
	if a.rules != nil && (a.disturbed || a.operation.asked(c)) {
		s.disturb(a, c, notify)
	} else if given := s.respond(a, c); given != nil && notify {
		s.notify(given, c)
	}
}

// disturb does what answer does, for a request with rules. The reply is made before the wait, so
// that the latency includes the work of making it.
func (s *Server) disturb(a *answer, c *call, notify bool) {
	a.rules.Begin(&c.Random)
	limit, ok := a.rules.Admit(&c.Request, &c.reply)
	defer limit.Write(&c.reply) // whatever the answer is
	if !ok {
		c.trace.Limited = true
		return
	}
	var chosen *answer
	if a.operation != nil {
		var answered bool
		if chosen, answered = a.operation.choose(c); answered {
			return
		}
	}
	begun := c.arrival()
	held := traffic.Held{Capacity: a.rules.Capacity()}
	if held.Capacity != nil {
		if begun, ok = held.Capacity.Enter(c.waiter(), begun, &c.reply, &c.trace); !ok {
			return
		}
		held.Begun = time.Now()
		defer held.Leave()
	}
	drawn := a.rules.Draw(&c.Request) // before the reply, which may also draw random numbers
	c.whole = drawn.Fault != nil
	switch {
	case chosen != nil:
	case a.outcomes != nil:
		chosen = &a.outcomes[drawn.Outcome]
	default:
		chosen = a
	}
	var given *answer
	if drawn.Instead == nil {
		given = s.respond(chosen, c)
	} else {
		drawn.Instead.Fill(&c.reply)
		c.trace.Instead = drawn.Instead.Refusal.Code
	}
	if drawn.Timed {
		held.Waits(begun, drawn.Length)
		if !c.wait(a.rules, begun, drawn.Length) {
			held.Ends = time.Time{}
			return
		}
	}
	if given != nil && notify {
		s.notify(given, c)
	}
	if drawn.Fault != nil && c.spoil(drawn.Fault, held.Capacity) {
		held.Capacity = nil // it is freed later
	}
}

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
		c.panicked = true
		c.endPassing()
		message := fmt.Sprint(p)
		reply.InternalError.Write(&c.reply, "a defect of the server, see its log: "+message)
		s.allowOrigin(c)
		s.tellPanic("panic while serving a request", c.trace.Endpoint, p, message,
			slog.String("method", string(c.In.Method)), slog.String("uri", string(c.In.Target)))
		if s.opts.AccessLog {
			s.logAccess(c, slog.String("code", reply.InternalError.Code))
		}
	}
	if s.recorder != nil {
		if !c.brief {
			s.recorder.Leave(c.peer.Shard())
		}
		s.recorder.End(&c.In, &c.reply, &c.trace, c.peer.Shard(), c.took(), c.peer.HasLeft())
	}
}

// respond applies the changes of an answer, and makes its reply. It returns the answer that was
// sent, which is another one if the rows that the request read have changed. It returns nil if the
// client has left, or if the reply is an error or the answer declared for a change that is not
// possible.
func (s *Server) respond(a *answer, c *call) *answer {
	c.values = a.lets.Make(c.values, &c.Request)
	if a.changes != nil {
		if a = s.change(a, c); a == nil {
			return nil
		}
	}
	whole := a.resource == nil && s.write(a, c) || a.resource != nil && s.serveRows(a, c)
	if c.Stopped == nil && whole {
		return a
	}
	if c.Stopped != nil && c.Stopped != renderer.ErrLeft { // otherwise the client has left
		f, err := s.unfinished(c.Stopped)
		f.Write(&c.reply, a.name+": "+err.Error())
		s.tellServerError(f, a, err)
	}
	return nil
}

// write makes the reply of an answer. It reports whether it succeeded; if not, the reply says why,
// unless the client has left.
func (s *Server) write(a *answer, c *call) bool {
	if a.proxy.takes(c) {
		return s.pass(a, c)
	}
	c.reply.Status = a.status
	a.addHeaders(c)
	switch {
	case !a.template.IsNone():
		c.reply.Render(&a.template, &c.Request)
	case a.source != nil:
		return s.respondExternal(a, c)
	default:
		c.reply.Body = a.static
	}
	c.reply.ContentType = a.contentType
	return true
}

// respondExternal replies with an external body, or with the reason why it is not available. If the
// body does not exist and the answer has a proxy, the request is passed on.
func (s *Server) respondExternal(a *answer, c *call) bool {
	body, err := a.source.Body(&c.Request)
	c.trace.Upstream = body.Waited
	switch {
	case c.Stopped != nil:
		return false
	case err != nil && a.proxy != nil && reply.OfBody(err) == reply.BodyNotFound:
		return s.pass(a, c)
	case err != nil:
		f := reply.OfBody(err)
		f.Write(&c.reply, err.Error())
		s.tellServerError(f, a, err)
		return false
	}
	if body.Template != nil {
		t := body.Template.Ready()
		c.reply.Render(&t, &c.Request)
	} else {
		c.reply.Body = body.Bytes
	}
	c.reply.ContentType = a.contentType
	if body.ContentType != "" && !a.typeDeclared {
		c.reply.ContentType = body.ContentType
	}
	return true
}
