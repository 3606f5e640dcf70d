package serve

import (
	"log/slog"
	"time"

	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/protocol/h2"
)

// A request waits for its latency once its reply is made. It waits in its goroutine, or without one:
// then serve returns, and resume does what follows. In both cases, each request is recorded once, and
// its place is freed once.

// rest is what follows the latency of a request.
type rest struct {
	rules *traffic.Rules
	due   time.Time // when its latency is over; zero if it has none
	limit traffic.LimitResult
	held  traffic.Held
	given *compile.Response // whose webhooks are triggered; nil for none
	fault *traffic.Fault    // nil for none
}

// wait waits until the latency of a request is over, or makes serving it return.
func (s *Server) wait(c *call, a *compile.Response, begun time.Time, length time.Duration) {
	w := &c.rest
	w.held.Waits(begun, length)
	due := begun.Add(length)
	c.waitsFor(begun, due, length)
	if c.Trace.Proxied && !time.Now().Before(due) { // the upstream took longer than the latency, which is not a latency error
		s.proceed(c, false)
		return
	}
	w.due = due
	if c.paced && c.mayWait(a, due) {
		c.waits = true
		c.Shrink()
		return
	}
	s.proceed(c, c.peer.WaitUntil(due))
}

// waitsFor notes a latency, which begins at begun and is over when it is due.
func (c *call) waitsFor(begun, due time.Time, length time.Duration) {
	served := begun
	if t := c.In.Time; t.After(begun) {
		served = t // it was pipelined: the time before it was served does not count
	}
	c.Trace.Declared += length
	c.Trace.Waited += max(due.Sub(served), 0)
}

// mayWait reports whether a request may wait without a goroutine, which a stream gets back for what may
// block. Over HTTP/1.1, only its reply waits, for long enough to be worth it.
func (c *call) mayWait(a *compile.Response, due time.Time) bool {
	w := &c.rest
	blocks := c.server.AccessLog || w.fault != nil || w.given != nil && len(w.given.Hooks) > 0 && c.server.Stored
	if st, _ := c.peer.(*h2.Stream); st != nil {
		st.Blocks = blocks
		return c.Reply.Passed == nil && time.Now().Before(due)
	}
	return !blocks && c.Reply.Passed == nil && a.Paced && !c.isHead() && (c.connection == "" || c.connection == "close") &&
		len(c.Reply.Body) <= mostDelayed && time.Until(due) >= leastDelay
}

// proceed does what follows the latency of a request, or its reply if there is no latency.
func (s *Server) proceed(c *call, left bool) {
	defer c.settle()
	w := &c.rest
	if left {
		w.held.Ends = time.Time{}
		return
	}
	if !w.due.IsZero() {
		c.Trace.Late, c.Trace.Timed = max(time.Since(w.due), 0), true
		w.rules.Late(c.Trace.Late)
	}
	if w.given != nil {
		s.notify(w.given, c)
	}
	if c.Reply.Streamed { // an upstream's answer keeps its place to the end
		c.held = w.held.Capacity
	}
	if w.fault != nil && c.spoil(w.fault, w.held.Capacity) || c.held != nil {
		w.held.Capacity = nil // it is freed later
	}
}

// settle frees the place of a request and adds the headers of its rate limit, unless it still waits.
func (c *call) settle() {
	if c.waits {
		return
	}
	w := &c.rest
	w.held.Leave()
	w.limit.Write(&c.Reply)
	*w = rest{}
}

// resume continues a call that waits, once its latency is over or its client has left. It does not
// block.
func (s *Server) resume(c *call) {
	defer s.finish(c)
	c.waits = false
	s.proceed(c, c.peer.HasLeft())
	s.complete(c)
}

// complete completes the head of a reply, and logs the request.
func (s *Server) complete(c *call) {
	s.completeHead(c)
	if s.AccessLog && !c.passesOn() {
		s.logAccess(c, c.peer.HasLeft(), slog.Duration("took", time.Since(c.In.Time)))
	}
}

// completeHead adds to a reply what does not depend on the endpoint.
func (s *Server) completeHead(c *call) {
	if s.ServerTiming {
		c.Reply.Add(serverTiming, c.Trace.ServerTiming(time.Since(c.In.Time)))
	}
	if c.Reply.Refusal != nil {
		s.dress(c)
	}
	if c.Reply.Passed == nil {
		s.allowOrigin(c)
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// dress gives an error of the server the form that the language model has whose path the request has.
func (s *Server) dress(c *call) {
	sn, f := c.world, (*compile.ErrorForm)(nil)
	switch {
	case sn == nil: // the request was refused before it was matched
		f = s.snapshot.Load().ErrorForm(&c.Request)
	case c.matched < 0:
		f = sn.ErrorForm(&c.Request)
	default:
		f = sn.Responses[c.matched].ErrorForm
	}
	if f != nil {
		c.values = f.Dress(&c.Reply, &c.Request, c.values)
	}
}
