package wire

import (
	"errors"
	"io"
	"os"
	"time"
)

// part is what a connection is read for. Each part has its own time-out, which starts when the part
// begins.
type part struct {
	request int // how many requests were read before it
	kind    kind
}

// kind is one of the parts of a request.
type kind uint8

const (
	waiting kind = iota // for its first byte
	inHead
	inBody
)

// await prepares the connection to be read for the next part, of which some has already been read.
// The time-out of the first request's head starts when the connection is accepted.
func (c *Connection) await(some []byte) error {
	next := part{request: c.framing.requests, kind: waiting}
	switch {
	case c.framing.stage != atHead:
		next.kind = inBody
	case c.framing.inside(some):
		next.kind = inHead
	}
	if next != c.at {
		c.enter(next)
	}
	if next.kind == waiting && next.request > 0 {
		return c.rest(len(some) > 0)
	}
	return c.enforce()
}

// enter starts the time-out of a part.
func (c *Connection) enter(next part) {
	c.at = next
	switch {
	case next.kind == inBody:
		c.readRenewed = time.Now()
		c.bodyBegun, c.bodyRead = c.readRenewed, 0
		c.readExpires = c.readRenewed.Add(bodyTimeout)
	case next.request == 0: // Adopt has set that one
	case next.kind == inHead:
		c.readExpires = time.Now().Add(headerTimeout)
	default:
		c.idleSince = c.from.clock.elapsed()
	}
}

// rest makes the connection idle. fasthttp sends its responses before it reads another request, but
// not while it has a pipelined one: that one is served first. The deadline is when the connection
// is parked, and is set again only once half of it has passed, or if it is the deadline of another
// part. A connection that has sent empty lines is not parked. When the server ends, there is a
// moment for one more request.
func (c *Connection) rest(lines bool) (err error) {
	if left := c.restsUntil - c.idleSince; lines {
		err = c.restUntil(c.idleSince + idleTimeout)
	} else if left < parkTime+clockTick || left > 2*parkTime+clockTick {
		err = c.restUntil(c.idleSince + 2*parkTime + clockTick)
	}
	c.idle.begin()
	if err == nil && c.from.isEnding() { // its last response did not announce the close
		err = c.Conn.SetReadDeadline(time.Now().Add(c.from.moment()))
	}
	c.rested = err != nil
	return err
}

// restUntil sets the deadline of an idle connection, as time since the base of the clock.
func (c *Connection) restUntil(at time.Duration) error {
	c.restsUntil = at
	until := c.TimeOf(at)
	if until == c.readInForce {
		return nil
	}
	c.readInForce = until
	return c.Conn.SetReadDeadline(until)
}

// enforce sets the deadline of the part on the connection.
func (c *Connection) enforce() error {
	if c.readExpires != c.readInForce {
		c.readInForce, c.restsUntil = c.readExpires, 0
		if err := c.Conn.SetReadDeadline(c.readExpires); err != nil {
			return err
		}
	}
	if !c.from.isEnding() {
		return nil
	}
	// Hurry may have set the deadline in force by now, or this may have replaced Hurry's.
	expires := c.readExpires
	if !c.spoke.Load() {
		expires = time.Now().Add(c.from.moment())
	}
	return c.Conn.SetReadDeadline(expires)
}

// receive reads once, for the next part, of which b already contains some bytes.
func (c *Connection) receive(b []byte, held int) (int, error) {
	if err := c.await(b[:held]); err != nil {
		return 0, err
	}
	n, err := c.read(b, held)
	if c.unwritten {
		return 0, c.failed
	}
	if err != nil {
		if held == 0 && c.parks(err) {
			return 0, errParked
		}
		c.failed = err
		c.rested = n == 0 && c.isIdle()
	}
	if !c.looked {
		c.rise()
	}
	if n > 0 && c.at.kind == inBody {
		c.renew(n)
	}
	return n, err
}

// isIdle reports whether the connection was last read for another request.
func (c *Connection) isIdle() bool { return c.at.kind == waiting && c.at.request > 0 }

// rise ends being idle. If Hurry has taken the connection for idle, rise waits for it: the deadline
// that Hurry sets would otherwise apply to the request.
func (c *Connection) rise() {
	if c.isIdle() && !c.idle.taken() {
		c.from.hurrying.Lock()
		defer c.from.hurrying.Unlock()
	}
}

// renew restarts the time-out of a body after n bytes of it arrived.
func (c *Connection) renew(n int) {
	c.bodyRead += n
	if now := time.Now(); now.Sub(c.readRenewed) >= renewal {
		c.readRenewed, c.readExpires = now, now.Add(bodyTimeout)
		if last := c.bodyBegun.Add(longest(c.bodyRead)); last.Before(c.readExpires) {
			c.readExpires = last
		}
	}
}

// longest returns how long n bytes may take to get through.
func longest(n int) time.Duration { return slowTime + time.Duration(n/slowRate)*time.Second }

// Lateness describes how a body was too slow.
func (c *Connection) Lateness() string {
	if most := longest(c.bodyRead); time.Since(c.bodyBegun) >= most {
		return "the request body was not whole after " + most.String()
	}
	return "no more of the request body came for " + bodyTimeout.String()
}

// errParked ends serving a connection that is parked: for fasthttp it has ended.
var errParked = io.EOF

// parks reports whether a failed read is the time to be parked.
func (c *Connection) parks(err error) bool {
	if c.parked = c.isIdle() && errors.Is(err, os.ErrDeadlineExceeded) && !c.from.isEnding(); c.parked {
		c.framing.forget() // it keeps the buffer, which is given back
	}
	return c.parked
}
