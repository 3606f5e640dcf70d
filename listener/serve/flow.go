package serve

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/http1"
	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer/stream"
)

// A streamed reply is sent item by item, each when it is due. No goroutine belongs to it: its connection, or its
// HTTP/2 stream, calls the flow when something is due, and the flow makes all that is due by then, in one piece.
// Items are due on a fixed grid: each its gap after the item before was due, however late that was sent.

// flow is the streamed reply to a call, from its beginning to its end.
type flow struct {
	rest   // due is when the next item is due, by the clock of the endpoint
	call   *call
	source *compile.Response // what declares it
	stream *compile.Stream
	cursor stream.Cursor
	item   *stream.Item   // the next one; nil after the last one
	gaps   matcher.Random // draws the gaps, so that they do not depend on what the items draw
	clock  *traffic.Clock // which the streams of the endpoint share; nil for none
	begun  time.Time      // when the request arrived, or got its place
	head   time.Time      // when the head is due
	ends   time.Time      // when the reply ends, even if items are left; zero for never
	last   time.Time      // when something was sent last
	until  time.Time      // when the next thing is due, by the clock on the wall
	took   time.Duration  // from the arrival to the head
	free   time.Time      // when a slow body has room for more
	sent   record.Streamed
	headed bool // the head was sent
	whole  bool // an error is sent instead, as a whole
	bare   bool // only the head is sent
	closes bool // the connection closes after the reply
	coded  bool // each item is a chunk of HTTP/1.1
}

var flows = sync.Pool{New: func() any { return new(flow) }}

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
	if first := f.stream.First; first != nil {
		wait = traffic.Wait{Length: first(f.gaps.Float64()), Timed: true}
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
	if f.until = f.head; f.fault != nil {
		c.fault, c.Trace.Fault = f.fault, f.fault.Kind
	}
	c.Shrink()
}

// drop ends a streamed reply of which nothing is sent, and returns when the fault that is sent instead is due.
func (f *flow) drop(wait traffic.Wait, r *matcher.Request) traffic.Wait {
	if first := f.stream.First; first != nil {
		wait = traffic.Wait{Length: first(r.Random.Float64()), Timed: true}
	}
	f.call.flow = nil
	f.recycle()
	return wait
}

// recycle returns the flow to the pool.
func (f *flow) recycle() {
	cursor := f.cursor
	*f = flow{cursor: cursor}
	flows.Put(f)
}

// mostBeforeCut is how many items are sent before a fault if the number of all items is not known.
const mostBeforeCut = 10

// isCut reports whether a fault ends the reply before the next item.
func (f *flow) isCut() bool {
	most := f.stream.Count / 2
	if f.stream.Count < 0 {
		most = mostBeforeCut
	}
	return f.fault != nil && f.fault.Kind == wire.Truncate && f.sent.Items >= most
}

// next moves to the next item, and sets when that is due.
func (f *flow) next() {
	before := f.item
	if f.item, _ = f.cursor.Next(&f.call.Request); f.item != nil && before != nil {
		f.due = f.due.Add(f.stream.Step(before, f.item, f.gaps.Float64()))
	}
}

// step appends to b what is due, as far as there is room for it, sets when more is due, and reports whether the
// reply has ended. After an item that cannot be made it has ended, too.
func (f *flow) step(b []byte, room bool) (out []byte, ended bool) {
	now := time.Now()
	if !f.headed {
		if now.Before(f.head) {
			f.until = f.head
			return b, false
		}
		b = f.begin(b, now, room)
	}
	for begin := len(b); f.sent.End == ""; {
		due := f.dueAt()
		switch end := f.endAt(now); {
		case end != "":
			f.sent.End = end
		case now.Before(due):
			return f.wait(b, now, due), false
		case !room || len(b)-begin >= wire.Enough:
			f.until = now
			return b, false
		default:
			b = f.appendItem(b, now)
		}
	}
	return b, true
}

// endAt returns how the reply ends before the next item; "" if it does not.
func (f *flow) endAt(now time.Time) string {
	server := f.call.server
	switch {
	case !f.bare && !f.whole && f.isCut():
		return record.EndFault
	case f.bare || f.whole || f.item == nil || f.stream.Most > 0 && f.sent.Items >= f.stream.Most:
		return record.EndComplete
	case !f.ends.IsZero() && !now.Before(f.ends):
		return record.EndMaxDuration
	case f.stream.Endless && (server.Hurried.Load() || f.sent.Items > 0 && server.Stopping.Load()):
		return record.EndStopped
	}
	return ""
}

// dueAt returns when the next item is due, by the clock on the wall.
func (f *flow) dueAt() time.Time {
	due := f.due
	if f.clock != nil && f.sent.Items > 0 {
		due = f.clock.Wall(due)
	}
	return latest(due, f.free)
}

// wait sets when the next thing is due after now, and appends a heartbeat that is.
func (f *flow) wait(b []byte, now, due time.Time) []byte {
	f.until = due
	if every := f.stream.Heartbeat; every > 0 {
		if !now.Before(f.last.Add(every)) {
			begin := len(b)
			b = f.chunk(append(b, ": heartbeat\n\n"...), begin)
			f.last = now
		}
		f.until = earliest(f.until, f.last.Add(every))
	}
	if !f.ends.IsZero() {
		f.until = earliest(f.until, f.ends)
	}
	if left := f.until.Sub(now); f.clock != nil && left > recheck && f.clock.Factor() > 1 {
		f.until = now.Add(left / 4 * 3)
	}
	return b
}

// recheck is how long a stream waits at most by a shared clock without looking again: it may run faster meanwhile.
const recheck = 4 * time.Millisecond

// begin makes the head, and appends it to b over HTTP/1.1. If the first item is due as well, but cannot be made, the
// reply is an error instead.
func (f *flow) begin(b []byte, now time.Time, room bool) []byte {
	c := f.call
	f.headed, f.last = true, now
	f.took = c.took()
	if c.Trace.Timed = f.rules != nil && !f.head.Equal(f.begun); c.Trace.Timed {
		c.Trace.Late = max(now.Sub(f.head), 0)
		f.rules.Late(c.Trace.Late)
	}
	begin := len(b)
	c.Reply.Streamed = true
	b = f.appendHead(b)
	if !room || f.bare || f.item == nil || now.Before(f.due) || f.isCut() {
		return b
	}
	if b = f.appendItem(b, now); f.sent.End == record.EndBroken && f.sent.Items == 0 {
		f.whole = true
		f.coded = false
		b = append(f.appendHead(b[:begin]), c.Reply.Sent(false)...)
	}
	return b
}

// appendHead completes the reply, and appends its head to b over HTTP/1.1.
func (f *flow) appendHead(b []byte) []byte {
	c, s := f.call, f.call.server
	f.limit.Write(&c.Reply)
	s.completeHead(c)
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

// appendItem appends the item that is due, and moves to the next one.
func (f *flow) appendItem(b []byte, now time.Time) []byte {
	c, begin := f.call, len(b)
	b = f.cursor.Append(b, &c.Request)
	if c.Stopped != nil {
		f.fail()
		return b[:begin]
	}
	f.sent.Items++
	f.sent.Bytes += len(b) - begin
	f.last = now
	if slow := f.fault; slow != nil && slow.Kind == wire.Slow {
		f.free = latest(f.free, now).Add(time.Duration(float64(len(b)-begin) / float64(slow.Pace) * float64(time.Second)))
	}
	if f.sent.Items == 1 && f.clock != nil {
		f.due = f.clock.Enter(f.due, f.stream.Demand)
	}
	f.next()
	if c.Stopped != nil {
		f.fail()
	}
	return f.chunk(b, begin)
}

// chunk makes what was appended to b since begin a chunk, over HTTP/1.1.
func (f *flow) chunk(b []byte, begin int) []byte {
	n := len(b) - begin
	if !f.coded || n == 0 { // an empty one would end the body
		return b
	}
	var digits [18]byte
	size := append(strconv.AppendInt(digits[:0], int64(n), 16), "\r\n"...)
	b = append(b, size...)
	copy(b[begin+len(size):], b[begin:begin+n])
	copy(b[begin:], size)
	return append(b, "\r\n"...)
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

// Continue makes what is due, for a connection of HTTP/1.1.
func (f *flow) Continue(b []byte, left bool) (out []byte, next time.Time, last bool) {
	conn, begin := f.call.peer.(*wire.Connection), len(b)
	defer func() {
		if p := recover(); p != nil {
			out, next, last = b[:begin], time.Time{}, true
			f.panicked(p)
		}
	}()
	if left {
		f.finish(true)
		return b, next, false
	}
	out, ended := f.step(b, true)
	if !ended {
		return out, f.until, false
	}
	broken := f.isBroken()
	if f.coded && !broken {
		out = append(out, http1.LastChunk...)
	}
	last = f.closes || broken || f.call.server.Stopping.Load() || conn.IsOld()
	f.finish(false)
	return out, next, last
}

// isBroken reports whether the client is to notice that the reply is incomplete.
func (f *flow) isBroken() bool {
	return (f.sent.End == record.EndBroken || f.sent.End == record.EndFault) && !f.whole
}

// put makes what is due, for a stream of HTTP/2. It returns when more is due; the zero time at the end.
func (f *flow) put(st *h2.Stream) (until time.Time) {
	defer func() {
		if p := recover(); p != nil {
			f.panicked(p)
			st.Break()
		}
	}()
	if st.HasLeft() {
		f.finish(true)
		return until
	}
	c, headed := f.call, f.headed
	room := st.HasRoom()
	b := st.Room
	if room {
		b = b[:0]
	}
	out, ended := f.step(b, room)
	if room {
		st.Room = out
	}
	if f.headed && !headed {
		if f.bare || f.whole {
			streams{c.server}.send(c, st, nil)
		} else {
			var block [1 << 10]byte
			st.Begin(c.appendBlock(block[:0], nil, st.Conn().(beyond).Connection.Date()))
		}
	}
	switch {
	case f.bare || f.whole:
	case ended && f.isBroken():
		if len(out) > 0 && room {
			st.Put(out, false)
		}
		st.Break()
	case room && (ended || len(out) > 0):
		st.Put(out, ended)
	}
	if until = f.until; ended {
		f.finish(false)
		until = time.Time{}
	}
	return until
}

// finish ends the reply: it passes the place on, sends the webhooks, and records the request.
func (f *flow) finish(left bool) {
	c, s := f.call, f.call.server
	if left && f.sent.End == "" {
		f.sent.End = record.EndClient
	}
	if left = left && !f.headed; f.held.Capacity != nil && f.sent.End != record.EndClient {
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

// close sends the webhooks, and logs the request.
func (f *flow) close(left bool) {
	c, s := f.call, f.call.server
	defer func() {
		if p := recover(); p != nil {
			f.panicked(p)
		}
	}()
	if f.given != nil && f.headed {
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
	if f.clock != nil && f.sent.Items > 0 {
		f.clock.Leave(f.stream.Demand)
	}
	f.sent.Took = time.Since(f.begun)
	f.call.Trace.Streamed = f.sent
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

// writeStream prepares a streamed reply, and reports whether it succeeded.
func (s *Server) writeStream(a *compile.Response, c *call) bool {
	f := flows.Get().(*flow)
	f.call, f.source, f.stream = c, a, a.Stream
	c.Reply.ContentType = a.ContentType
	a.Stream.Begin(&f.cursor)
	c.flow = f
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
