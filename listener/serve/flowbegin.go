package serve

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// stream begins the streamed reply to a request that arrived, or got its place, at begun, and that has a latency.
func (s *Server) stream(c *call, begun time.Time, wait traffic.Wait) {
	f := c.flow
	f.rest, c.rest = c.rest, rest{}
	f.begun, f.bare, f.clock = begun, c.isHead(), f.stream.Clock
	c.server, c.waits = s, true
	if c.Random.Seeded() {
		f.gaps.Seed(c.Random.Uint64(), 1)
	}
	f.head = begun.Add(wait.Length)
	if first, ok := f.stream.Begins(&c.Request, f.gaps.Float64); ok && !(f.stream.HeadAtOnce && f.isBare()) {
		wait = traffic.Wait{Length: first, Timed: true}
	}
	if f.due = begun.Add(wait.Length); !f.stream.HeadAtOnce {
		f.head = f.due
	}
	if wait.Timed {
		c.waitsFor(begun, f.due, wait.Length)
	}
	if f.stream.MaxDuration > 0 {
		f.ends = begun.Add(f.stream.MaxDuration)
	}
	f.prepare()
	f.until = f.head
	if counts := f.counts(); counts != nil {
		counts.Open()
	}
	c.Shrink()
	f.dropBody()
}

// leastDropped is the size, in bytes, above which it is worth it to give up a body.
const leastDropped = 512

// dropBody gives up the body of the request, except what the journal may keep of it, if nothing reads it any more.
func (f *flow) dropBody() {
	c, kept := f.call, 0
	if c.server.Recorder != nil {
		kept = record.KeptPart
	}
	size := len(c.In.Body)
	if f.stream.ReadsBody || f.given != nil && len(f.given.Hooks) > 0 || size <= max(kept, leastDropped) {
		return
	}
	c.Trace.Received, c.In.Body = size, c.In.Body[:kept]
	c.kept = c.Keep(nil) // the values of let may be in the memory before
	if st, _ := c.peer.(*h2.Stream); st != nil {
		st.DropBody()
	}
}

// drop ends a streamed reply of which nothing is sent, and returns when the fault that is sent instead is due.
func (f *flow) drop(wait traffic.Wait, r *matcher.Request) traffic.Wait {
	if first, ok := f.stream.Begins(r, r.Random.Float64); ok {
		wait = traffic.Wait{Length: first, Timed: true}
	}
	f.call.flow = nil
	f.recycle()
	return wait
}

// begin makes the head, and appends it to b over HTTP/1.1. If the first item is due as well, but cannot be made, the
// reply is an error instead.
func (f *flow) begin(b []byte, now time.Time, room bool) []byte {
	c := f.call
	f.headed, f.last = true, now
	if f.took = c.took(); !f.stream.HeadAtOnce || f.isBare() {
		f.reach(now, f.head)
	}
	begin := len(b)
	c.Reply.Streamed = true
	b = f.appendHead(b)
	if f.stream.Opens && room && !f.bare {
		b = f.appendOpening(b)
	}
	if !room || f.bare || f.item == nil || now.Before(f.due) || f.applyFault(now) || f.stalled {
		return b
	}
	if b = f.appendItem(b, now); f.sent.End == record.EndBroken && f.sent.Items == 0 {
		f.whole = true
		f.coded = false
		b = append(f.appendHead(b[:begin]), c.Reply.Sent(false)...)
	}
	return b
}

// appendOpening appends what would go with the first item that takes a step.
func (f *flow) appendOpening(b []byte) []byte {
	for c := f.call; f.item != nil && compile.GoesWithNext(f.item) && c.Stopped == nil; f.next() {
		begin := len(b)
		b = f.cursor.Append(b, &c.Request)
		f.sent.Bytes += len(b) - begin
		b = f.chunk(b, begin)
	}
	return b
}

// appendHead completes the reply, and appends its head to b over HTTP/1.1.
func (f *flow) appendHead(b []byte) []byte {
	c, s := f.call, f.call.server
	f.limit.Write(&c.Reply)
	s.completeHead(c)
	f.announce()
	conn, _ := c.peer.(*wire.Connection)
	if conn == nil {
		return b
	}
	f.closes = f.closes || s.Stopping.Load() || conn.IsOld()
	if f.coded = f.coded && !f.bare; f.coded {
		c.Reply.Add(fasthttp.HeaderTransferEncoding, "chunked")
	}
	if c.connection = ""; f.closes {
		c.connection = "close"
	}
	return c.Reply.AppendHead(b, conn.Date(), c.connection)
}

// newFlow begins the streamed reply of an answer.
func (c *call) newFlow(a *compile.Response, stream *compile.Stream) *flow {
	f := flows.Get().(*flow)
	f.call, f.source, f.stream = c, a, stream
	stream.Begin(&f.cursor)
	c.flow = f
	return f
}

// writeStream prepares a streamed reply, and reports whether it succeeded.
func (s *Server) writeStream(a *compile.Response, c *call) bool {
	c.Reply.ContentType = a.ContentType
	f := c.newFlow(a, a.Stream)
	resumed := f.resume()
	if f.next(); resumed && f.item == nil && c.Stopped == nil { // an EventSource does not come again
		c.Reply.Status, c.Reply.ContentType, c.flow = fasthttp.StatusNoContent, "", nil
	}
	if c.Stopped != nil {
		c.flow = nil
	}
	return c.Stopped == nil
}

// mostPassed is how many items of a stream are passed over at most for one that a client already has.
const mostPassed = 100_000

// resume passes over the items up to the one that the client got last, and reports whether there is such an item.
// Otherwise the stream begins with its first item.
func (f *flow) resume() bool {
	r := &f.call.Request
	last, ok := r.Header("Last-Event-ID")
	if !ok || len(last) == 0 || !f.stream.Resume {
		return false
	}
	random := r.Random
	for range mostPassed {
		if _, ok := f.cursor.Next(r); !ok {
			break
		}
		if id, ok := f.cursor.ID(r); ok && bytes.Equal(id, last) {
			return true
		}
	}
	r.Random, r.Stopped = random, nil
	f.stream.Begin(&f.cursor)
	return false
}

// start makes a connection of HTTP/1.1 send the reply.
func (f *flow) start(x *wire.Exchange) error {
	f.coded = f.call.In.Protocol != matcher.HTTP10
	f.closes = !f.coded || x.Request.Header.ConnectionClose()
	if x.Conn == nil { // in tests
		f.finish(false)
		return nil
	}
	if err := x.Conn.Flush(); err != nil {
		f.finish(true)
		return err
	}
	x.Conn.Delay(f, f.until)
	return nil
}
