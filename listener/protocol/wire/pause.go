package wire

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// A request that waits, for its latency or for its turn, waits where it is served: in the
// connection's goroutine, which sleeps in a read. So the request needs no thread, timer or
// goroutine of its own, and the wait also ends when the client leaves or the server closes the
// connection. What the client sends during the wait (requests after the waiting one) is kept for
// later.
//
// A client that finishes sending (FIN) and one that is gone look alike. The client counts as gone
// unless it announced that the request is its last: then it has nothing else to send, and may well
// be waiting for the response, as "printf … | nc -N" does.

// pauseEnd is the reason why a pause ended.
type pauseEnd uint8

// The reasons why a pause ended.
const (
	pauseDue   pauseEnd = iota // its time has come
	pauseWoken                 // Wake was called, in the pause or before: check the condition
	pauseLeft                  // the client left, or the server stopped: no response is sent
)

const (
	// maxAhead is the maximum size, in bytes, of the later requests that are kept while one waits.
	// If a client sends more, nothing is read until that request is answered. Until then, the
	// server does not notice if the client leaves.
	maxAhead = MaxHeader
	// aheadRoom is the step by which the buffer for these requests grows.
	aheadRoom = 2 << 10
	// alarmLead is how long before the end of a pause the pacer is to wake the runtime.
	alarmLead = time.Second
)

// pause waits until the given time, or until Wake is called. Only the connection's goroutine may
// call it. A zero time means no limit. After pauseLeft the connection is closed, and what is
// written to it is lost.
func (c *Connection) pause(until time.Time) pauseEnd {
	if c.Flush() != nil { // earlier responses do not wait
		c.left = true
		_ = c.CloseNow() // the client is gone
		return pauseLeft
	}
	c.grows = false // responses to requests that wait are not built in the buffer
	if !until.IsZero() && !time.Now().Before(until) {
		return pauseDue
	}
	defer func() { c.readInForce = past }() // the deadline has changed
	for !c.deaf && len(c.held) < maxAhead {
		if c.beginRead(until) {
			return pauseWoken
		}
		room := c.room()
		n, err := c.Stream().Read(room)
		woken := c.endRead()
		c.keep(room[:n])
		switch {
		case woken:
			return pauseWoken
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !until.IsZero() && !time.Now().Before(until) {
				return pauseDue
			}
		case err == io.EOF && (c.head.last() || c.ended):
			c.deaf = true
		case err != nil:
			c.left = true
			_ = c.CloseNow() // the client is gone
			return pauseLeft
		}
	}
	return c.sleep(until)
}

// Wait waits until Wake is called or the client leaves, and reports whether the client left.
func (c *Connection) Wait() (left bool) { return c.pause(time.Time{}) == pauseLeft }

// WaitUntil waits until t or until the client leaves, and reports whether the client left.
func (c *Connection) WaitUntil(t time.Time) (left bool) {
	if c == nil {
		return false
	}
	for {
		if end := c.pause(t); end != pauseWoken {
			return end == pauseLeft
		}
	}
}

// Left reports whether the client has left, during a request that is being processed and is not
// waiting. Left may wait for a millisecond. Bytes that it reads are kept, as in a pause.
func (c *Connection) Left() bool {
	if left, inside := c.asksInside(); inside {
		return left
	}
	return c.left || c.pause(time.Now().Add(time.Millisecond)) == pauseLeft
}

// beginRead sets the deadline of a pause, unless Wake was already called.
func (c *Connection) beginRead(until time.Time) (woken bool) {
	p := &c.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.woken {
		p.woken = false
		return true
	}
	p.reads = true
	switch early := until.Add(-alarmLead); {
	case until.IsZero():
	case time.Now().Before(early):
		until = early // set again later, so that the pacer stores no times for clients long gone
	default:
		c.from.Pacer.Wake(until)
	}
	_ = c.Conn.SetReadDeadline(until) // if this fails, reading fails too
	return false
}

func (c *Connection) endRead() (woken bool) {
	p := &c.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	woken, p.woken, p.reads = p.woken, false, false
	return woken
}

// room returns the space after the held bytes, which a pause reads into.
func (c *Connection) room() []byte {
	if c.held == nil {
		return c.first[:]
	}
	if len(c.held) == cap(c.held) {
		c.held = slices.Grow(c.held, aheadRoom)
	}
	return c.held[len(c.held):min(cap(c.held), maxAhead)]
}

// keep adds what a pause has read to the held bytes.
func (c *Connection) keep(b []byte) {
	if len(b) == 0 {
		return
	}
	c.heldAt = time.Now()
	if c.held == nil {
		c.held = append(make([]byte, 0, aheadRoom), b...)
		return
	}
	c.held = c.held[:len(c.held)+len(b)]
}

// sleep does what pause does, for a connection that cannot be read from.
func (c *Connection) sleep(until time.Time) pauseEnd {
	var due <-chan time.Time
	if !until.IsZero() {
		due = time.After(time.Until(until))
	}
	p := &c.pausing
	for {
		p.mu.Lock()
		if p.signal == nil {
			p.signal = make(chan struct{}, 1)
		}
		woken, closed := p.woken, p.closed
		p.woken = false
		p.mu.Unlock()
		switch {
		case closed:
			c.left = true
			return pauseLeft
		case woken:
			return pauseWoken
		}
		select {
		case <-due:
			return pauseDue
		case <-p.signal:
		}
	}
}

// Wake ends the current pause of the connection, or else the next one. Any goroutine may call it,
// while holding any lock. It may also end a pause that waits for something else, so the caller of
// pause checks its condition and, if necessary, pauses again.
func (c *Connection) Wake() {
	p := &c.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
	p.wakeUp()
	if p.reads {
		_ = c.Conn.SetReadDeadline(past) // fails only if it is closed, which also ends the pause
	}
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)
