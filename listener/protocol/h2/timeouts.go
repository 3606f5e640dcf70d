package h2

import (
	"math"
	"time"

	"golang.org/x/net/http2"
)

// isIdle reports whether the connection waits only for a request.
func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled && len(c.streams) == 0 && c.serving == 0 && c.block.stream == nil && c.goAwaySent.IsZero()
}

// settle starts writing everything before the connection waits for more input, and waits while too
// much is left for another goroutine to write. The error says why the connection ends.
func (c *conn) settle() error {
	if c.goAwaySent.IsZero() && c.srv.isDraining() {
		c.goAway()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush(byReader)
	for c.writing && len(c.out) > maxOut && c.failed == nil {
		c.free.Wait()
	}
	switch {
	case c.failed != nil:
		return c.failed
	case c.over:
		return errFault
	case c.final && len(c.streams) == 0 && c.serving == 0 && !c.writing:
		return errDrained
	}
	return nil
}

// goAway asks the client to open no more streams, and sends a ping: once that is answered, all
// streams that were in flight have arrived.
func (c *conn) goAway() {
	c.goAwaySent = c.source.now
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = appendGoAway(c.out, math.MaxInt32, http2.ErrCodeNo)
	c.out = appendPing(c.out, 0, lastPing)
}

// lastPing is the content of the ping that goAway sends.
var lastPing = [8]byte{'l', 'a', 's', 't', ' ', 'o', 'n', 'e'}

// goAwayFinally tells the client which stream is the last one to be answered.
func (c *conn) goAwayFinally() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.final {
		c.final = true
		c.out = appendGoAway(c.out, c.last, http2.ErrCodeNo)
	}
}

// look checks all timeouts. The error says why the connection ends.
func (c *conn) look(now time.Time) error {
	s := &c.source
	switch {
	case !c.settled && now.Sub(c.begun) >= headerTimeout,
		c.block.stream != nil && now.Sub(c.block.begun) >= headerTimeout,
		s.inFrame > 0 && now.Sub(s.frameTime) >= stallTimeout:
		return errSlow
	case !s.idleSince.IsZero() && now.Sub(s.idleSince) >= idleTimeout:
		return errIdle
	}
	if c.goAwaySent.IsZero() && !c.expires.IsZero() && !now.Before(c.expires) {
		c.goAway()
	}
	if !c.goAwaySent.IsZero() && now.Sub(c.goAwaySent) >= ackTimeout {
		c.goAwayFinally()
	}
	for _, late := range c.stalled(now) {
		if err := c.refuse(late, 408, lateness(late, now)); err != nil {
			return err
		}
	}
	return nil
}

// stalled resets the streams whose response the client reads too slowly, and returns those whose
// request arrives too slowly.
func (c *conn) stalled(now time.Time) (late []*Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		switch {
		case !s.received && s != c.block.known && !s.answered && isLate(now, s.begun, s.arrived, len(s.Body)):
			late = append(late, s)
		case s.paced:
			if (s.blocked || s.sent < s.allowed) && now.Sub(s.progress) >= stallTimeout {
				c.reset(s, http2.ErrCodeCancel)
			}
		case !s.answerBegun.IsZero() && s.sent < s.allowed && isLate(now, s.answerBegun, s.progress, s.sent):
			c.reset(s, http2.ErrCodeCancel)
		}
	}
	return late
}

// isLate reports whether n bytes have taken too long since begun, or no progress was made for too
// long.
func isLate(now, begun, progress time.Time, n int) bool {
	return now.Sub(progress) >= stallTimeout || now.Sub(begun) >= longest(n)
}

// longest returns the maximum time that n bytes may take to get through.
func longest(n int) time.Duration { return slowTime + time.Duration(n/slowRate)*time.Second }

// lateness says why a body counts as too slow.
func lateness(s *Stream, now time.Time) string {
	if now.Sub(s.begun) >= longest(len(s.Body)) {
		return "the request body was not complete after " + longest(len(s.Body)).String()
	}
	return "no more of the request body arrived for " + stallTimeout.String()
}
