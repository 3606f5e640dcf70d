package serve

import (
	"fmt"
	"log/slog"
	"time"

	"mockserver/listener/compile/webhook"
	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// recycle returns the flow to the pool.
func (f *flow) recycle() {
	cursor, second, body := f.cursor, f.second[:0], f.body[:0]
	*f = flow{cursor: cursor, body: body}
	f.second = second
	flows.Put(f)
}

// fail ends the reply after an item that could not be made. Before the head it becomes an error.
func (f *flow) fail() {
	c, s := f.call, f.call.server
	failure, err := s.unfinished(c.Stopped)
	s.logServerError(failure, f.source, err)
	if c.Stopped, f.sent.End = nil, record.EndBroken; f.sent.Items == 0 {
		failure.Write(&c.Reply, f.source.Name+": "+err.Error())
	}
}

// isBroken reports whether the client is to notice that the reply is incomplete.
func (f *flow) isBroken() bool {
	return f.sent.End == record.EndBroken && !f.whole || f.sent.End == record.EndFault && f.fault.Breaks
}

// finish ends the reply: it passes the place on, sends the webhooks, and records the request.
func (f *flow) finish(left bool) {
	c, s := f.call, f.call.server
	if left && f.sent.End == "" {
		f.sent.End = record.EndClient
	}
	if left = left && !f.headed; f.held.Capacity != nil && f.sent.End != record.EndClient && !f.stalled {
		f.held.Ends = earliest(f.dueAt(), time.Now()) // an item that is left out was due later
	}
	f.settle(left)
	if s.AccessLog || f.given != nil && len(f.given.Hooks) > 0 && s.Stored { // which may block
		c.kept = c.Keep(c.kept[:0])
		c.peer, c.In.Peer = nobody, nil // which serve other requests from now on
		go f.close(left)
		return
	}
	f.close(left)
}

// sends reports whether a webhook is sent now: with the first item, or at the end. Without an item, all are sent at
// the end. A nil flow is a reply that is not streamed.
func (f *flow) sends(h *webhook.Hook) bool {
	return f == nil || h.Starts == (f.sent.End == "") || f.sent.Items == 0
}

// close sends the webhooks, and logs the request.
func (f *flow) close(left bool) {
	c, s := f.call, f.call.server
	defer func() {
		if p := recover(); p != nil {
			f.panicked(p)
		}
	}()
	if f.given != nil && len(f.given.Hooks) > 0 && f.headed {
		c.Reply.End = &matcher.StreamEnd{Items: f.sent.Items, Duration: f.sent.Took, End: f.sent.End}
		s.notify(f.given, c)
	}
	if s.AccessLog {
		s.logAccess(c, left, slog.Duration("took", time.Since(c.In.Time)))
	}
	if f.cursor.Limited() && s.serverErrors.Pass("limited "+f.source.Name, time.Now()) {
		s.Log.Warn("a stream has more than 10,000,000 items; the rest are left out", "endpoint", f.source.Name)
	}
	f.recycle()
	c.Release()
}

// settle passes the place on, and records the request.
func (f *flow) settle(left bool) {
	f.held.Leave()
	f.leaveClock()
	f.sent.Took = time.Since(f.begun)
	if rest := time.Until(f.due); f.sent.Items == 0 && rest > 0 { // it ended before its first item was due
		t := &f.call.Trace
		t.Declared, t.Waited = t.Declared-rest, max(t.Waited-rest, 0)
	}
	if !f.whole && !f.stream.Whole {
		f.call.Trace.Streamed = f.sent
	}
	if counts := f.counts(); counts != nil {
		counts.End(f.sent.End)
	}
	if s := f.call.server; s.Recorder != nil {
		s.record(f.call, left)
	}
}

// panicked ends the reply after a panic. Its call and its state are unknown, and are not used again.
func (f *flow) panicked(p any) {
	c := f.call
	c.panicked = true
	c.server.logPanic("panic while serving a request", c.Trace.Endpoint, p, fmt.Sprint(p),
		slog.String("method", string(c.In.Method)), slog.String("uri", string(c.In.Target)))
	if f.sent.End == "" { // it was not recorded
		f.sent.End = record.EndBroken
		reply.InternalError.Write(&c.Reply, fmt.Sprint(p))
		f.settle(false)
	}
}
