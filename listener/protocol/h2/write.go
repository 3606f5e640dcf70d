package h2

import (
	"slices"
	"time"

	"golang.org/x/net/http2"

	"mockserver/internal/pacer"
)

// The functions below need the lock of the connection, unless they say otherwise.

// respond adds the headers of a response to the write buffer, and as much of its body as there is
// room for.
func (c *conn) respond(s *Stream, block []byte) {
	if c.over { // it would be taken for the rest of a frame
		c.abandon(s)
		return
	}
	whole := len(s.body) == 0 && s.ending == endsWhole
	c.headers(s.id, block, whole)
	if whole {
		c.finish(s)
		return
	}
	c.push(s)
	if !s.closed {
		c.keep(s)
		s.answerBegun = time.Now()
		s.progress = s.answerBegun
		c.enqueue(s)
	}
}

// headers adds a header block to the write buffer.
func (c *conn) headers(stream uint32, block []byte, end bool) {
	if c.shrink {
		c.shrink = false
		block = append([]byte{0x20}, block...) // dynamic table size 0, RFC 7541 section 6.3
	}
	c.out = appendHeaders(c.out, stream, block, end)
}

// enqueue adds a stream to the queue of streams with something to send, if it has something to
// send.
func (c *conn) enqueue(s *Stream) {
	if !s.queued && !s.closed && s.answered && (s.sent < s.allowed || s.blocked) && s.window > 0 {
		s.queued = true
		c.ready = append(c.ready, s)
	}
}

// push adds as much of the body of a stream to the write buffer as there is room for, and what
// follows its end.
func (c *conn) push(s *Stream) {
	for s.sent < s.allowed && s.window > 0 && c.window > 0 && len(c.out) < outSize {
		c.part(s)
	}
	c.conclude(s)
}

// part adds one frame of the body of a stream.
func (c *conn) part(s *Stream) {
	n := min(s.allowed-s.sent, s.window, c.window, c.maxFrame)
	if s.ending == endsBroken { // half of what the frame promises
		c.out = append(appendFrame(c.out, n+1, dataFrame, 0, s.id), s.body[s.sent:s.sent+n/2]...)
		c.breakOff(s)
		return
	}
	flags := http2.Flags(0)
	if s.sent+n == len(s.body) && s.ending == endsWhole && s.Trailer == nil {
		flags = endStream
	}
	c.out = append(appendFrame(c.out, n, dataFrame, flags, s.id), s.body[s.sent:s.sent+n]...)
	s.sent += n
	s.window -= n
	c.window -= n
}

// conclude ends a stream once everything is sent.
func (c *conn) conclude(s *Stream) {
	switch {
	case s.closed || s.sent < s.allowed:
	case s.ending == endsReset:
		c.reset(s, resetCode)
	case s.ending == endsBroken: // there is no body
		c.out = append(c.out, 0, 0, 1) // nor a whole frame
		c.breakOff(s)
	case s.ending == endsLater && !s.paced:
		s.wakeUp(false) // Write waits for it
	case s.ending == endsLater && s.blocked && s.window > 0:
		s.proceed()
	case s.ending == endsLater:
	case s.sent == len(s.body) && s.Trailer != nil:
		c.endLate(s)
	case s.sent == len(s.body):
		c.finish(s)
	}
}

// breakOff ends the connection in the middle of a frame.
func (c *conn) breakOff(s *Stream) {
	c.over = true
	c.finish(s)
	_ = c.nc.SetReadDeadline(past) // the goroutine that reads then sees it
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// finish ends a stream whose response is completely in the write buffer. If its request is
// incomplete, the client is told to send no more of it.
func (c *conn) finish(s *Stream) {
	if !s.received {
		c.out = appendReset(c.out, s.id, http2.ErrCodeNo)
	}
	c.finished++
	c.close(s)
}

// reset ends a stream with an error.
func (c *conn) reset(s *Stream, code http2.ErrCode) {
	id := s.id // the stream may soon be reused
	c.out = appendReset(c.out, id, code)
	s.answered = true
	c.abandon(s)
	c.old.add(id, true)
}

// abandon ends a stream whose client needs no response, or gets no more of it.
func (c *conn) abandon(s *Stream) {
	if s.closed {
		return
	}
	s.wakeUp(true)
	waits := pacer.Cancel(&s.entry)
	c.close(s) // which recycles it, unless it waits
	if waits {
		s.inline = false
		go c.run(s, s.later)
	}
}

// close ends a stream.
func (c *conn) close(s *Stream) {
	s.closed = true
	delete(c.streams, s.id)
	if s.queued { // it would stay in memory while the client has no room for bodies
		i := slices.Index(c.ready, s)
		c.ready = slices.Delete(c.ready, i, i+1)
		s.queued = false
	}
	c.starve(s, false)
	c.old.add(s.id, !s.received)
	c.follow(s)
	c.drop(s)
	c.wakeDrained()
}

// follow arranges for Stream.after to be called once everything in the write buffer is written.
// Until the Handler has sent the response, or has returned, it may still set after.
func (c *conn) follow(s *Stream) {
	if (s.sending || s.served) && s.after != nil && !s.followed {
		s.following, s.followed = true, true
		c.written = append(c.written, s)
	}
}

// drop recycles a stream that is no longer used.
func (c *conn) drop(s *Stream) {
	if s.closed && s.served && !s.following {
		c.bodies -= s.counted
		c.waiting -= s.waits
		c.srv.waiting.Add(-int64(s.waits))
		c.grow()
		s.recycle()
	}
}

// pump adds bodies to the write buffer, one frame of each stream in turn, until there is no room.
func (c *conn) pump() {
	for len(c.ready) > 0 && c.window > 0 && len(c.out) < outSize && !c.over {
		s := c.ready[0]
		c.ready = c.ready[1:]
		s.queued = false
		if s.sent < s.allowed && s.window > 0 {
			c.part(s)
			s.progress = time.Now()
		}
		if c.conclude(s); !s.closed {
			c.enqueue(s)
		}
	}
}

// writer is who writes the write buffer.
type writer uint8

const (
	byAnyone writer = iota
	byReader        // leaves bodies that take more than one write to a goroutine: the client may send something meanwhile
	byPacer         // leaves what the socket does not take at once to a goroutine
)

// flush writes the write buffer, unless another goroutine does. The lock is released during each
// write.
func (c *conn) flush(by writer) {
	if c.writing {
		return
	}
	c.writing = true
	for again := false; c.fill(); again = true {
		leaves := by == byReader && again && (len(c.ready) > 0 || len(c.out) >= outSize)
		o, n := taken{c.out, c.written, c.finished, c.over}, 0
		c.out, c.written = c.spare[:0], c.doing[:0]
		c.mu.Unlock()
		if by == byPacer {
			if now, able := c.nc.(interface{ WriteNow(b []byte) int }); able && !o.over {
				n = now.WriteNow(o.b)
			}
			leaves = n < len(o.b)
		}
		if leaves {
			go c.writeOn(o, n)
			c.mu.Lock()
			return
		}
		c.transmit(o, n)
		c.free.Broadcast()
	}
	c.writing = false
	c.free.Broadcast()
}

// writeOn writes the rest of output of which n bytes are written, and what follows. It is called without
// the lock.
func (c *conn) writeOn(o taken, n int) {
	c.transmit(o, n)
	defer c.mu.Unlock()
	c.writing = false
	c.flush(byAnyone)
	c.wakeDrained()
}

// wakeDrained wakes the goroutine that reads if the connection is over.
func (c *conn) wakeDrained() {
	if c.final && len(c.streams) == 0 {
		_ = c.nc.SetReadDeadline(past)
	}
}

// fill fills the write buffer, and reports whether there is anything to do.
func (c *conn) fill() bool {
	if c.failed != nil {
		c.out = c.out[:0]
	} else {
		c.pump()
	}
	return len(c.out) > 0 || len(c.written) > 0
}

// taken is output that is being written.
type taken struct {
	b        []byte
	written  []*Stream // whose responses are in b, with something to do afterwards
	finished int       // responses that end in b
	over     bool      // the connection ends after it
}

// transmit writes the rest of output of which n bytes are written, and calls the functions that follow
// the responses in it. It is called without the lock, and returns with it.
func (c *conn) transmit(o taken, n int) {
	var err error
	if n < len(o.b) {
		_, err = c.nc.Write(o.b[n:])
	}
	if len(o.written) > 0 {
		now := time.Now()
		for _, s := range o.written {
			s.after(now)
		}
	}
	c.mu.Lock()
	if err == nil {
		c.finished -= o.finished
		if o.over {
			err = errFault
		}
	}
	if err != nil && c.failed == nil {
		c.failed = err
		_ = c.nc.SetReadDeadline(past) // the goroutine that reads sees it
	}
	for i, s := range o.written {
		s.following = false
		c.drop(s)
		o.written[i] = nil
	}
	if c.spare, c.doing = o.b[:0], o.written[:0]; cap(o.b) > 2*outSize {
		c.spare = nil
	}
}

// park releases what an idle connection does not need. It is called without the lock, by the
// goroutine that reads, between two frames.
func (c *conn) park() {
	c.framer = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.writing && len(c.out) == 0 {
		c.out, c.spare, c.ready, c.written, c.doing = nil, nil, nil, nil, nil
	}
}
