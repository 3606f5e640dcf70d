package wire

import "sync"

// A connection may be served by the goroutine of the set that it was parked in: it is shared. That goroutine
// serves others too, so it must not wait, and leaves all that may take long to another one.

// unused holds connections that are closed, and that nothing refers to.
var unused = sync.Pool{New: func() any { return new(Connection) }}

// reuse makes the memory of a closed connection available, if no other goroutine knows it: not one that
// served it, nor the one that ends the server. The pacer knows only connections that had a goroutine.
func (c *Connection) reuse() {
	if c.known || c.from.isEnding() {
		return
	}
	*c = Connection{stay: c.stay}
	unused.Put(c)
}

// IsShared reports whether the goroutine that serves the connection serves others too, so that what may take
// long is left to another one.
func (c *Connection) IsShared() bool { return c.shared }

// mayBlock reports whether the connection is shared, and it may take long to write the rest of a response,
// or to close the connection.
func (c *Connection) mayBlock() bool {
	return c.shared && (c.delay.rest != nil || c.ended && c.lingers())
}

// leaveShared makes another goroutine serve the connection.
func (c *Connection) leaveShared() {
	c.from.lot.leave(c, true)
	if c.later == nil { // otherwise the request was matched, which may have counted it, and is not read again
		c.head, c.isPlain = head{}, false
	}
	c.shared = false
	c.from.Resume(c)
}
