package serve

import (
	"strconv"
	"sync"
	"time"

	"mockserver/config/policy"
	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
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
	spoiling
	sent    record.Streamed
	shown   moment    // when an item was sent last that has a time of its own
	made    time.Time // when the item before was made
	full    time.Time // since when there was no room for an item, up to roomy
	roomy   time.Time // when there was room again; before full while there is none
	rounds  int       // of endless loops, that have begun
	stepped bool      // an item of the last one took a step
	headed  bool      // the head was sent
	whole   bool      // an error, or the body of all items, is sent instead, as a whole
	body    []byte    // that body
	ready   bool      // it is made
	bare    bool      // only the head is sent
	closes  bool      // the connection closes after the reply
	coded   bool      // each item is a chunk of HTTP/1.1
	trails  bool      // a trailer follows the items
	lacks   bool      // there was no room for what is due
}

var flows = sync.Pool{New: func() any { return new(flow) }}

// next moves to the next item, and sets when that is due.
func (f *flow) next() {
	before := f.item
	if f.item, _ = f.cursor.Next(&f.call.Request); f.item != nil && before != nil {
		part := f.gaps.Float64()
		step := f.stream.Step(before, f.item, part)
		if rounds := f.cursor.Rounds(); rounds != f.rounds {
			if step == 0 && !f.stepped { // the items that take a step were left out
				step = f.stream.Pause(part)
			}
			f.rounds, f.stepped = rounds, false
		} else {
			f.stepped = f.stepped || step > 0
		}
		f.due = f.due.Add(step)
	} else {
		f.rounds = f.cursor.Rounds()
	}
}

// step appends to b what is due, as far as there is room for it, sets when more is due, and reports whether the
// reply has ended. After an item that cannot be made it has ended, too.
func (f *flow) step(b []byte, room bool) (out []byte, ended bool) {
	now := time.Now()
	if f.lacks = false; len(f.second) > 0 {
		if f.until = f.secondAt; now.Before(f.until) {
			return b, false
		}
		if f.lacks = !room; f.lacks {
			return f.wait(b, now, now.Add(mostParked)), false
		}
		b = f.appendSecond(b, now)
	}
	if f.stream.Whole {
		return f.stepWhole(b, now)
	}
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
		case len(f.second) > 0:
			f.until = f.secondAt
			return b, false
		case end != "":
			f.sent.End = end
		case f.stalled:
			f.until = f.ends
			return b, false
		case now.Before(due):
			return f.wait(b, now, due), false
		case !room:
			f.lacks = true
			return f.wait(b, now, now.Add(mostParked)), false
		case len(b)-begin >= wire.Enough:
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
	case f.applyFault(now):
		return record.EndFault
	case f.bare || f.whole || !f.stalled && (f.item == nil || f.stream.Most > 0 && f.sent.Items >= f.stream.Most):
		return record.EndComplete
	case !f.ends.IsZero() && !now.Before(f.ends):
		return record.EndMaxDuration
	case (f.stream.Endless || f.stalled) && (server.Hurried.Load() || f.sent.Items > 0 && server.Stopping.Load()):
		return record.EndStopped
	}
	return ""
}

// dueAt returns when the next item is due, by the clock on the wall.
func (f *flow) dueAt() time.Time { return latest(f.pacedAt(), f.free) }

// pacedAt returns the same for a body that is not slow.
func (f *flow) pacedAt() time.Time {
	if f.clock != nil && f.sent.Items > 0 {
		return f.clock.Wall(f.due)
	}
	return f.due
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
	for _, t := range [...]time.Time{f.ends, f.faultAt} {
		if t.After(now) {
			f.until = earliest(f.until, t)
		}
	}
	if left := f.until.Sub(now); f.clock != nil && left > recheck && f.clock.Factor() > 1 {
		f.until = now.Add(left / 4 * 3)
	}
	return b
}

// mostParked is how long a stream waits for room at most without looking again.
const mostParked = time.Hour

// recheck is how long a stream waits at most by a shared clock without looking again: it may run faster meanwhile.
const recheck = 4 * time.Millisecond

// appendItem appends the item that is due, and moves to the next one.
func (f *flow) appendItem(b []byte, now time.Time) []byte {
	c, begin, due := f.call, len(b), f.dueAt()
	if f.sent.Items == 0 && f.stream.HeadAtOnce {
		f.reach(now, due)
	}
	faulty := f.isFaulty(now)
	if faulty && f.source.Failing != nil {
		f.cursor.Replace(f.source.Failing, &c.Request)
	}
	if c.Stopped == nil {
		b = f.cursor.Append(b, &c.Request)
	}
	if c.Stopped != nil {
		f.fail()
		return b[:begin]
	}
	size := len(b) - begin
	f.sent.Items++
	if faulty && f.fault.Kind == policy.FaultMalformed {
		size /= 2
	}
	f.sent.Bytes += size
	f.last = now
	if f.speed > 0 {
		f.free = latest(f.free, now).Add(time.Duration(float64(size) / float64(f.speed) * float64(time.Second)))
	}
	if f.sent.Items == 1 && f.clock != nil {
		f.due = f.clock.Enter(f.due, f.stream.Demand)
	}
	f.count(size, due, now)
	if f.sent.Items == 1 && f.given != nil {
		c.server.notify(f.given, c)
	}
	if faulty {
		return f.spoil(b, begin)
	}
	f.next()
	if c.Stopped != nil {
		f.fail()
	}
	return f.chunk(f.cut(b, begin, now), begin)
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

// Continue makes what is due, for a connection of HTTP/1.1.
func (f *flow) Continue(b []byte, left bool) (out []byte, next time.Time, last bool) {
	conn, begin := f.call.peer.(*wire.Connection), len(b)
	f.full, f.roomy = conn.Blocked()
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
	if broken {
		conn.Break(f.sent.End == record.EndFault && f.fault.Kind == policy.FaultReset)
	}
	if f.coded && !broken {
		out = f.appendLast(out)
	}
	last = f.closes || broken || f.call.server.Stopping.Load() || conn.IsOld()
	f.finish(false)
	return out, next, last
}

// put makes what is due, for a stream of HTTP/2. It returns when more is due; the zero time at the end.
func (f *flow) put(st *h2.Stream) (until time.Time) {
	defer func() {
		if p := recover(); p != nil {
			f.panicked(p)
			st.Break(false)
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
		f.hasRoom(true)
	}
	out, ended := f.step(b, room)
	if st.NeedsRoom = f.lacks && !ended; room {
		st.Room = out
	} else if f.lacks {
		f.hasRoom(false)
	}
	if f.headed && !headed {
		if f.bare || f.whole {
			streams{c.server}.send(c, st, nil)
		} else {
			var block [1 << 10]byte
			st.Begin(c.appendBlock(block[:0], nil, st.Conn().(beyond).Connection.Date()))
		}
	}
	f.deliver(st, out, room, ended)
	if until = f.until; ended {
		f.finish(false)
		until = time.Time{}
	}
	return until
}

// deliver sends over HTTP/2 what was made, for which there is room or not.
func (f *flow) deliver(st *h2.Stream, out []byte, room, ended bool) {
	switch {
	case f.bare || f.whole:
	case ended && f.isBroken():
		if len(out) > 0 && room {
			st.Put(out, false)
		}
		st.Break(f.sent.End == record.EndFault && f.fault.OfConnection)
	case ended:
		if f.trail(st); room {
			st.Put(out, true)
		} else {
			st.End()
		}
	case room && len(out) > 0:
		st.Put(out, false)
	}
}
