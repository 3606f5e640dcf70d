package wire

import (
	"errors"
	"os"
	"time"
)

// A connection that waits for a long time is parked: its buffers, which take up most of its memory,
// are released. Only a goroutine that waits for one byte is left.

// unpark waits until a parked connection must be served again. It reports false if it has closed
// the connection instead.
func (c *Connection) unpark() bool {
	c.parked, c.large = false, false
	c.leaveIdle() // code that wakes or hurries an idle connection sets its deadline before this code does
	c.readInForce, c.restsUntil = c.TimeOf(c.idleSince+idleTimeout), 0
	err := c.Conn.SetReadDeadline(c.readInForce)
	c.idle.park()
	if err == nil && c.from.isEnding() {
		err = c.Conn.SetReadDeadline(time.Now().Add(c.from.patience))
	}
	n := 0
	if err == nil {
		n, err = c.Stream().Read(c.first[:])
	}
	if c.leaveIdle(); n == 0 || err != nil {
		c.closeNotify()
		_ = c.CloseNow() // the client expects no response
		return false
	}
	c.readInForce = time.Time{}
	c.held, c.store = c.first[:n], nil
	return true
}

// Serve serves the connection to its end with serve, which it calls again when a parked connection
// receives data, has finished its handshake, or has become large. Once the connection has left
// HTTP/1.1, Serve runs the function that Leave has set.
func (c *Connection) Serve(serve func(*Connection) error) error {
	defer c.release()
	c.served = true
	var err error
	for {
		err = serve(c)
		c.freeBuffers()
		if closing := c.Close(); err == nil {
			err = closing
		}
		if c.upgraded.Load() {
			talk := c.talk
			c.talk = nil // talk may run for long: the field must not keep what talk refers to
			talk()
			err = nil
			break
		}
		if !c.parked || !c.resume() {
			break
		}
	}
	c.answered.Store((err == nil || c.struck || c.rested) && !c.cutOff && !c.unwritten)
	return err
}

// resume continues a connection that is parked. It reports false if it has closed the connection
// instead.
func (c *Connection) resume() bool {
	switch {
	case c.hello != nil:
		return c.secure()
	case c.grows:
		c.parked, c.large, c.grows = false, true, false
		return true
	}
	return c.unpark()
}

// fill makes the connection large if the n bytes of a request have filled its buffer, unless the
// body is too long even for a large buffer.
func (c *Connection) fill(n int) {
	if n == ReadBuffer && (c.framing.stage != atBody || c.framing.head.length <= MaxHeader-ReadBuffer) {
		c.Enlarge()
	}
}

// canGrow reports whether the n bytes that were read begin another request and have not been looked
// at yet.
func (c *Connection) canGrow(n int, err error) bool {
	return n > 0 && err == nil && !c.looked && c.framing.stage == atHead
}

// grow ends the reading of the connection, which can then become large. The bytes read, b, are read
// again.
func (c *Connection) grow(b []byte) error {
	c.hold(b)
	if c.flush(); c.unwritten { // the buffers are released
		return c.failed
	}
	c.parked = true
	c.framing.forget() // it refers to the buffer, which is released
	return errParked
}

// parks reports whether a failed read means that the connection is parked.
func (c *Connection) parks(err error) bool {
	if c.parked = c.isIdle() && errors.Is(err, os.ErrDeadlineExceeded) && !c.from.isEnding(); c.parked {
		c.framing.forget() // it refers to the buffer, which is released
		c.grows = false
	}
	return c.parked
}
