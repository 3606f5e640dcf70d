package h2

import "mockserver/internal/wording"

// Memory for request bodies is limited by the windows of the streams, because the connection's own
// window is always open. Those windows grow as bytes arrive, until all bodies together are large.
// From then on, only the window of the oldest incomplete body grows, so that each is completed in
// turn. The functions below need the lock of the connection.

// hold counts n bytes of the body of s. It lets the client send more of the body, or makes s wait
// for a larger window.
func (c *conn) hold(s *Stream, n int) {
	c.bodies += n
	s.counted += n
	if c.bodies < maxBodies || c.oldest() == s {
		c.widen(s)
	} else {
		c.starve(s, true)
	}
}

// starve notes whether s waits for a larger window.
func (c *conn) starve(s *Stream, starved bool) {
	switch {
	case starved && !s.starved:
		c.starved++
	case !starved && s.starved:
		c.starved--
	}
	s.starved = starved
	if !starved { // it may have been the oldest
		c.grow()
	}
}

// widen gives s the window it began with, once half of that is used.
func (c *conn) widen(s *Stream) {
	if n := streamWindow - s.given; n >= streamWindow/2 {
		c.out = appendWindowUpdate(c.out, s.id, n)
		s.given = streamWindow
	}
}

// grow lets waiting streams continue after another one is complete or closed.
func (c *conn) grow() {
	if c.starved == 0 {
		return
	}
	oldest := c.oldest()
	for _, s := range c.streams {
		if s.starved && (s == oldest || c.bodies < maxBodies) {
			s.starved = false
			c.starved--
			c.widen(s)
		}
	}
}

// oldest returns the stream that has waited longest for the rest of its request; nil for none.
func (c *conn) oldest() (oldest *Stream) {
	for _, s := range c.streams {
		if !s.received && (oldest == nil || s.id < oldest.id) {
			oldest = s
		}
	}
	return oldest
}

// The responses that wait for a window are bounded as well. Only responses in buffers of streams
// count: all others are shared by many requests, and take no memory of their own.

// owned returns the size of the buffer that the response of s is in, or 0 if that buffer is not
// Room.
func (s *Stream) owned() int {
	if len(s.body) == 0 || len(s.Room) == 0 || &s.body[0] != &s.Room[0] {
		return 0
	}
	return cap(s.Room)
}

// keep notes that the response of s waits.
func (c *conn) keep(s *Stream) {
	s.waits = s.owned()
	c.waiting += s.waits
	c.srv.waiting.Add(int64(s.waits))
}

// isCrowded reports whether so many bytes wait on the connection that no further stream may be
// opened.
func (c *conn) isCrowded() bool {
	return c.waiting >= maxWaiting || c.waiting > 0 && c.srv.isCrowded()
}

// isFull reports whether the response of s would have to wait, but may not. One response of each
// connection may always wait.
func (c *conn) isFull(s *Stream) bool {
	return c.waiting > 0 && len(s.body) > min(s.window, c.window) && s.owned() > 0 &&
		(c.waiting+s.owned() > mostWaiting || c.srv.isCrowded())
}

func (c *conn) largeBody() string {
	return "the request body is larger than " + wording.Size(c.srv.MaxBody)
}
