package wire

// sharing is the state of a connection that is served by the goroutine of the set that it was parked in.
// That serves others too, so it must not wait, and leaves all that may take long to another goroutine.
type sharing struct {
	shared bool
	moved  bool // from that goroutine to another one, which reads the request again from the buffer
}

// IsShared reports whether the goroutine that serves the connection serves others too: see ErrShared.
func (c *Connection) IsShared() bool { return c.shared }

// mayBlock reports whether the connection is shared, and it may take long to write the rest of a response,
// or to close the connection.
func (c *Connection) mayBlock() bool {
	return c.shared && (c.delay.rest != nil || c.ended && c.lingers())
}

// awaits reports whether a shared connection need not be read before its next event: its client sends
// nothing before it has the response.
func (c *Connection) awaits() bool {
	return c.shared && !c.ended && c.delay.rest == nil && !c.hasMore()
}

// leaveShared makes another goroutine serve the connection.
func (c *Connection) leaveShared() {
	c.from.lot.leave(c, true)
	c.head, c.isPlain = head{}, false
	c.shared, c.moved = false, true
	c.from.Resume(c)
}
