package wire

import (
	"time"
)

// A connection that waits long is parked: fasthttp ends as if the connection had been closed, and
// so releases its buffers and its context, which are most of a connection's memory. Only a
// goroutine that waits for one byte is left.

// unpark waits until a parked connection has to be served again, and reports whether it
// has: it is closed otherwise.
func (c *Connection) unpark() bool {
	c.parked = false
	c.rise() // whoever wakes or hurries an idle connection sets its deadline before this does
	c.readInForce, c.restsUntil = c.TimeOf(c.idleSince+idleTimeout), 0
	err := c.Conn.SetReadDeadline(c.readInForce)
	c.idle.park()
	if err == nil && c.from.isEnding() {
		err = c.Conn.SetReadDeadline(time.Now().Add(c.from.patience))
	}
	n := 0
	if err == nil {
		n, err = c.Conn.Read(c.first[:])
	}
	if c.rise(); n == 0 || err != nil {
		_ = c.CloseNow() // the client expects no response
		return false
	}
	c.readInForce = time.Time{}
	c.held, c.store = c.first[:n], nil
	return true
}
