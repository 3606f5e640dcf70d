package wire

import (
	"io"
	"time"
)

// await prepares the connection to be read for the next part. some contains the bytes of that part
// that have already been read, if any. The timeout of the first request's head starts when the
// connection is accepted.
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
		c.idleSince = c.from.clock.elapsed()
	}
}

// rest makes the connection idle: its responses are sent before another request is read. When the deadline expires, the
// connection is parked. The deadline is set again only once half of its time has passed, or if the
// deadline in force is that of another part. A connection that has sent empty lines is not parked.
// When the server stops, the client has a moment for one more request.
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
	// Hurry may have set the deadline in force by now, or this call may have replaced Hurry's.
	expires := c.readExpires
	if !c.spoke.Load() {
		expires = time.Now().Add(c.from.moment())
	}
	return c.Conn.SetReadDeadline(expires)
}

// flush writes the responses so far, and notes if that fails.
func (c *Connection) flush() {
	if err := c.Flush(); err != nil {
		c.failed, c.unwritten = err, true
	}
}

// settle writes the responses so far, unless another request is at hand.
func (c *Connection) settle() {
	if len(c.held) == 0 || c.after != nil || c.upgraded.Load() {
		c.flush()
	}
	if c.after != nil { // the response has been written
		c.release()
	}
}

// receive reads once for the next part; b already contains some of its bytes.
func (c *Connection) receive(b []byte, held int) (int, error) {
	if c.flush(); c.unwritten {
		return 0, c.failed
	}
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
		c.leaveIdle()
	}
	if n > 0 && c.at.kind == inBody {
		c.renew(n)
	}
	return n, err
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

// Lateness says why a body counts as too slow.
func (c *Connection) Lateness() string {
	if most := longest(c.bodyRead); time.Since(c.bodyBegun) >= most {
		return "the request body was not complete after " + most.String()
	}
	return "no more of the request body arrived for " + bodyTimeout.String()
}

// Read reads what the client sent, as far as it is valid: a head is returned whole, and nothing after
// the end of a request or a protocol error. In the latter case, the error returned is the protocol
// error. Responses are written before it waits for more.
func (c *Connection) Read(b []byte) (int, error) {
	c.settle()
	if c.upgraded.Load() {
		return 0, errParked // HTTP/1.1 has ended
	}
	switch {
	case c.unwritten:
		return 0, c.failed
	case c.over != nil:
		c.endReturned = true
		return 0, c.over
	}
	for n := 0; ; {
		got, err := c.more(b, n)
		n += got
		if c.grows && c.canGrow(n, err) {
			return 0, c.grow(b[:n])
		}
		if !c.looked {
			if done, failed := c.look(b, n, err); failed != nil {
				return 0, failed
			} else if done {
				n = 0
				continue
			}
		}
		c.looked = false
		if n == len(b) {
			c.fill(n)
		}
		if c.ready > 0 || c.over != nil || err != nil {
			return c.deliver(b[:n], err)
		}
		if rest := c.restAt; n < len(b) || rest > 0 {
			n -= rest
			copy(b, b[rest:rest+n])
			continue
		}
		if c.grows {
			return 0, c.grow(b)
		}
		c.over, c.endReturned = largeHead, true
		return 0, c.over
	}
}

// deliver returns how much of b, which was read, is ready, and holds the rest.
func (c *Connection) deliver(b []byte, err error) (int, error) {
	switch {
	case c.over != nil && c.ready > 0:
		return c.ready, nil
	case c.over != nil:
		c.endReturned = true
		return 0, c.over
	case c.ready > 0 && c.restAt < len(b):
		c.hold(b[c.restAt:])
	}
	return c.ready, err
}

// look passes the n bytes in b to take, and a plain request among them to Plain. It reports whether
// a request was answered. The error is a write error.
func (c *Connection) look(b []byte, n int, err error) (done bool, failed error) {
	if c.timed {
		c.readAt = c.from.clock.exactly()
	}
	if err != nil || !c.framing.again(b[:n]) {
		c.ready, c.restAt = c.take(b[:n], err)
	}
	if !c.framing.isPlain || c.from.Plain == nil || err != nil || c.out != nil && c.out.Buffered() > 0 {
		return false, nil // the response leaves with those before it
	}
	c.framing.plain.Bytes = b[:n:len(b)]
	if done, failed = c.from.Plain(c, &c.framing.plain); failed != nil {
		c.failed, c.unwritten = failed, true
		return false, failed
	}
	if done && c.after != nil {
		c.release()
	}
	return done, nil
}

// more adds to the n bytes in b: held bytes, which may be enough, or newly received ones.
func (c *Connection) more(b []byte, n int) (int, error) {
	if len(c.held) == 0 {
		c.store, c.arrived = nil, time.Time{}
		return c.receive(b, n)
	}
	got := copy(b[n:], c.held)
	if c.held = c.held[got:]; len(c.held) == 0 {
		c.held = nil
	}
	c.arrived = c.heldAt
	return got, nil
}

// begins looks at the first bytes of a connection, and reports whether they are something other
// than a request: a TLS handshake, clear text where only TLS is allowed, or all or part of the
// preface of HTTP/2.
func (c *Connection) begins(b []byte, err error) (ready, rest int, done bool) {
	if c.from.Handshake != nil && c.secured == nil {
		if ready, done := c.opens(b); done {
			return ready, len(b), true
		}
	}
	if b[0] == preface[0] && c.from.HTTP2 != nil && c.framing.head.scanned < len(preface) {
		begun, whole := c.takePreface(b)
		switch {
		case whole:
			return 0, len(b), true
		case begun && err == nil:
			return 0, 0, true
		}
	}
	return 0, 0, false
}

// take passes the received bytes to framing.take and stores what ends reading: the error of that
// call, or the end of the input inside a request. err is the error of reading.
func (c *Connection) take(b []byte, err error) (ready, rest int) {
	if c.framing.requests == 0 && len(b) > 0 {
		if ready, rest, done := c.begins(b, err); done {
			return ready, rest
		}
	}
	ready, rest, c.over = c.framing.take(b)
	inside := c.framing.inside(b[rest:])
	if (inside || ready > 0 || c.over != nil) && !c.spoke.Load() {
		c.spoke.Store(true)
	}
	c.cutOff = inside && err != nil
	if c.over == nil && inside && err == io.EOF {
		c.over = cutShort
	}
	c.behind = c.over != nil && rest < len(b)
	return ready, rest
}
