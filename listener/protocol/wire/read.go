package wire

import (
	"bytes"
	"errors"
	"os"
	"time"
	"unsafe"
)

// await prepares the connection to be read for the next part. some contains the bytes of that part
// that have already been read, if any. The timeout of the first request's head starts when the
// connection is accepted.
//
// An idle connection, whose responses are sent before another request is read, has no deadline until
// parkIdle parks it, unless it has sent empty lines: then it is not parked. When the server stops, the
// client has a moment for one more request.
func (c *Connection) await(some []byte) (err error) {
	next := part{request: c.requests, kind: waiting}
	switch {
	case c.inBody:
		next.kind = inBody
	case c.head.isInside(some):
		next.kind = inHead
	}
	if next != c.at {
		c.enter(next)
	}
	idle, state := c.isIdle(), uint32(isIdle)
	if idle && len(some) > 0 {
		c.readExpires, state = c.TimeOf(c.idleSince+idleTimeout), isAlone
	}
	if c.readExpires != c.readInForce {
		c.readInForce = c.readExpires
		err = c.Conn.SetReadDeadline(c.readExpires)
	}
	if idle {
		c.beginIdle(state)
	}
	if err == nil && c.from.isEnding() {
		// ExpireIdle may have set the deadline in force by now, or this call may have replaced it.
		expires := c.readExpires
		if idle || !c.spoke.Load() {
			expires = time.Now().Add(c.from.moment())
		}
		err = c.Conn.SetReadDeadline(expires)
	}
	c.rested = idle && err != nil
	return err
}

// enter starts the timeout of a part.
func (c *Connection) enter(next part) {
	c.at = next
	switch {
	case next.kind == inBody:
		c.readRenewed = time.Now()
		c.bodyBegun, c.bodyRead = c.readRenewed, 0
		c.readExpires = c.readRenewed.Add(bodyTimeout)
	case next.request == 0: // Adopt has set this deadline
	case next.kind == inHead:
		c.readExpires = time.Now().Add(headerTimeout)
	default:
		c.idleSince, c.readExpires = c.from.clock.elapsed(), time.Time{}
	}
}

// flush writes the responses so far, and notes if that fails.
func (c *Connection) flush() {
	if err := c.Flush(); err != nil {
		c.failed, c.unwritten = err, true
	}
}

// renew restarts the timeout of a body after n of its bytes have arrived.
func (c *Connection) renew(n int) {
	c.bodyRead += n
	if now := time.Now(); now.Sub(c.readRenewed) >= renewal {
		c.readRenewed, c.readExpires = now, now.Add(bodyTimeout)
		if last := c.bodyBegun.Add(longest(c.bodyRead)); last.Before(c.readExpires) {
			c.readExpires = last
		}
	}
}

// lateness says why a body counts as too slow.
func (c *Connection) lateness() string {
	if most := longest(c.bodyRead); time.Since(c.bodyBegun) >= most {
		return "the request body was not complete after " + most.String()
	}
	return "no more of the request body arrived for " + bodyTimeout.String()
}

// Read reads once, for the input buffer. Responses are written before it waits. On Linux it answers
// plain requests until something else arrives: see stay.
func (c *Connection) Read(b []byte) (int, error) {
	if len(c.held) > 0 {
		c.arrived = c.heldAt
		if c.Came = c.heldAt.Sub(c.from.clock.base); c.heldAt.IsZero() { // the connection was parked
			c.noteRead()
		}
		return c.ReadHeld(b), nil
	}
	c.arrived, c.heldAt = time.Time{}, time.Time{}
	if c.flush(); c.unwritten {
		return 0, c.failed
	}
	some, _ := c.in.Peek(c.in.Buffered()) // what is buffered can be peeked at
	if err := c.await(some); err != nil {
		return 0, err
	}
	n, err := c.read(b, len(some) > 0)
	if c.unwritten {
		return 0, c.failed
	}
	c.leaveIdle()
	c.noteRead()
	if err != nil {
		if err == errIdle || err == errShared || c.ended {
			return n, err
		}
		if len(some) == 0 && c.isIdle() && errors.Is(err, os.ErrDeadlineExceeded) && !c.from.isEnding() {
			return 0, errIdle
		}
		c.failed = err
		c.rested = n == 0 && c.isIdle()
	}
	if n > 0 && c.inBody {
		c.renew(n)
	}
	return n, err
}

// noteRead notes when the connection was read, if times are noted.
func (c *Connection) noteRead() {
	if c.from.timed {
		c.readAt = c.from.clock.exactly()
		c.Came = c.readAt
	}
}

// hasMore reports whether anything was received and is not read yet, after the current request if
// that is being served.
func (c *Connection) hasMore() bool { return c.in != nil && c.in.Buffered() > 0 || len(c.held) > 0 }

// hold makes what is buffered be read again, from another buffer.
func (c *Connection) hold() {
	b, _ := c.in.Peek(c.in.Buffered()) // what is buffered can be peeked at
	if len(b) > 0 && len(c.held) == 0 {
		c.heldAt = time.Now()
	}
	c.held = append(bytes.Clone(b), c.held...)
}

// look parses the head at the beginning of b, and reports whether it is whole. If the request is plain,
// c.plain is the request.
func (c *Connection) look(b []byte) (whole bool, err error) {
	if c.repeats(b) {
		return true, nil
	}
	c.isPlain = false
	length, err := c.head.read(b)
	if length == 0 {
		return false, err
	}
	c.preferred, c.accepted = c.preferred || c.head.prefers, c.accepted || c.head.accepts
	if c.size = length + c.head.length; c.size <= len(b) && c.head.isPlain(b) && !c.from.General && c.head.length <= c.from.MaxBody {
		c.isPlain, c.plain = true, c.head.plain(b[:c.size], length)
		if c.last = c.last[:0]; len(b) == c.size && len(b) <= longestLast && !c.shared {
			c.last = append(c.last, b...)
		}
	}
	if len(b) == readBuffer && c.size <= MaxHeader {
		c.Enlarge()
	}
	return true, nil
}

// longestLast is the maximum size of reading.last, in bytes.
const longestLast = 512

// repeats reports whether b repeats the last plain request, byte for byte and in the same buffer, as
// the requests of load generators do.
func (c *Connection) repeats(b []byte) bool {
	return c.isPlain && len(b) > 0 && c.head.scanned == 0 && unsafe.SliceData(b) == unsafe.SliceData(c.plain.Bytes) && bytes.Equal(b, c.last)
}

// The states of a connection, as far as parking and the end of the server need them. Whoever changes
// the state from idle may set the next deadline: the connection when it has a request, or the server
// when it stops.
const (
	isBusy    = iota
	isIdle    // it reads for another request, with all responses sent
	isLeaving // has been idle for some time, and is parked soon: see parkIdle
	isAlone   // waits in its goroutine: without buffers, or because it has sent empty lines
	isParked  // waits without a goroutine: see lot
	isDelayed // the same, with a delayed reply
)

// beginIdle makes the connection idle.
func (c *Connection) beginIdle(state uint32) {
	c.resting = true
	c.idle.Store(state)
}

// takeIdle makes the connection busy, and reports whether it was idle. It is for other goroutines.
func (c *Connection) takeIdle() bool {
	for {
		switch state := c.idle.Load(); {
		case state == isBusy || state >= isParked:
			return false
		case c.idle.CompareAndSwap(state, isBusy):
			return true
		}
	}
}

// leaveIdle makes the connection no longer idle. If ExpireIdle or parkIdle has already done so,
// leaveIdle waits until they have set their deadlines: one that is set later would apply to the request.
func (c *Connection) leaveIdle() {
	if c.resting && c.idle.Swap(isBusy) == isBusy {
		c.from.hurrying.Lock()
		defer c.from.hurrying.Unlock()
		c.readInForce = past
	}
	c.resting = false
}
