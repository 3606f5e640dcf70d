package serve

import (
	"errors"
	"fmt"
	"io"
	"time"

	"mockserver/fetcher/upstream"
	"mockserver/internal/ascii"
	"mockserver/internal/wording"
	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/recording"
	"mockserver/listener/reply"
)

// passing is an upstream's answer on its way to the client.
type passing struct {
	*upstream.Exchange // nil for none
	passed             reply.Passed
	coded              reply.Coded
	target             []byte
	capture            recording.Capture
	pieces
}

// endPassing releases the exchange with an upstream.
func (c *call) endPassing() {
	if c.passing == nil {
		return
	}
	if x := c.passing.Exchange; x != nil {
		c.passing.capture.End(x, recording.CodeLeft, record.StatusLeft) // the rest of its body was not read
		x.Free()
		c.passing.Exchange, c.passing.pieces = nil, pieces{}
	}
}

// pass replies to a request with a recorded answer, or else passes the request on and replies with
// the upstream's response. It reports whether there was such an answer or response.
func (s *Server) pass(a *compile.Response, c *call) bool {
	p := a.Proxy
	c.endPassing()
	if c.passing == nil {
		c.passing = new(passing)
	}
	x := c.passing
	c.server = s
	var waited time.Duration
	if rec := p.Tap.Recorder(); rec != nil {
		found, wait, err := x.capture.Begin(rec, &c.Request, uint64(c.peer.Shard()), c.waiter(), p.To.Deadline(time.Now()))
		if waited = wait; waited > 0 {
			c.Trace.Proxied, c.Trace.Upstream = true, waited
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
	request := upstream.Request{Request: &c.Request, Target: p.Fixed, Forwarded: p.Forwarded, Room: c.Reply.Room, Waiter: c.waiter()}
	if p.Path != nil {
		x.target = p.Path.Append(x.target[:0], &c.Request)
		request.Target = x.target
	}
	if c.buffered || len(a.Hooks) > 0 { // a fault or a webhook may need all of it
		request.Most = int64(s.MaxResponse)
	}
	begun := time.Now()
	err := p.To.Do(x.Exchange, &request)
	c.Trace.Proxied, c.Trace.Upstream, c.Trace.Place = true, max(waited+time.Since(begun), 1), x.Waited
	if err != nil {
		return s.failPassing(a, c, err)
	}
	x.capture.Response(x.Exchange)
	c.Reply.Fields = c.Reply.Fields[:0]
	c.Reply.Status, c.Reply.Body, c.Reply.Rendered = x.Status, x.Body, true
	x.coded = reply.Coded{Max: int64(s.MaxResponse)}
	c.Reply.Coded = &x.coded
	c.beginPieces(a)
	for _, f := range x.Fields {
		if !p.Sets(f.Name) && !(c.buffered && ascii.EqualFold(f.Name, "date")) { // other encoders write their own
			c.Reply.Add(reply.Text(f.Name), reply.Text(f.Value))
		}
	}
	a.Declare(&c.Reply, &c.Request)
	if !c.buffered || c.isHead() {
		x.passed = reply.Passed{Reason: reply.Text(x.Reason), Length: x.Length, Whole: x.Whole && !c.Reply.Streamed}
		c.Reply.Passed = &x.passed
	}
	return true
}

// ReadWatching reads the rest of the upstream's response. It returns upstream.ErrLeft as soon as the
// client leaves.
func (x *passing) ReadWatching(b []byte, w upstream.Waiter) (int, error) {
	n, err := x.Exchange.ReadWatching(b, w)
	if errors.Is(err, upstream.ErrTimeout) && x.isFaulty(false) { // the fault comes now
		return n, nil
	}
	if err == upstream.ErrLeft {
		x.capture.End(x.Exchange, recording.CodeLeft, record.StatusLeft)
	}
	x.capture.More(x.Exchange, b[:n], err == io.EOF, err != nil && err != io.EOF)
	return n, err
}

// failPassing answers a request that got no response from the upstream, unless the client has left.
// It returns false.
func (s *Server) failPassing(a *compile.Response, c *call, err error) bool {
	f := reply.ProxyFailed
	switch {
	case errors.Is(err, upstream.ErrLeft):
		c.passing.capture.End(c.passing.Exchange, recording.CodeLeft, record.StatusLeft)
		c.Reply.Status = record.StatusLeft
		return false
	case errors.Is(err, upstream.ErrTimeout):
		f = reply.ProxyTimeout
	case errors.Is(err, upstream.ErrLoop):
		f = reply.ProxyLoop
	case errors.Is(err, upstream.ErrUpgrade):
		f = reply.NotProxied
	}
	c.passing.capture.End(c.passing.Exchange, f.Code, f.Status)
	err = fmt.Errorf("upstream %s (%s): %w", a.Proxy.To.Name, a.Proxy.To.URL, err)
	f.Write(&c.Reply, wording.Bounded(err.Error()))
	s.logServerError(f, a, err)
	return false
}

// serveRecorded sets the reply to a recorded answer.
func (s *Server) serveRecorded(a *compile.Response, c *call, found *recording.Served) {
	c.Reply.Fields = c.Reply.Fields[:0]
	c.passing.coded = reply.Coded{Max: int64(s.MaxResponse)}
	c.Reply.Status, c.Reply.Body, c.Reply.Coded = found.Status, found.Body, &c.passing.coded
	for _, h := range found.Headers {
		if !a.Proxy.Sets([]byte(h[0])) {
			c.Reply.Add(h[0], h[1])
		}
	}
	a.Declare(&c.Reply, &c.Request)
	if stream := a.Proxy.Recorded(found); stream != nil && !c.isHead() {
		c.kept = c.Keep(c.kept[:0]) // its connection gives up the buffers of the request
		c.Reply.Body, c.Reply.Coded = nil, nil
		c.newFlow(a, stream).next()
	}
}
