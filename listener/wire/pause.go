package wire

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// A request that waits, for its latency or for its turn, waits where it is served: in
// the connection's goroutine, which sleeps in a read. So it needs no thread, timer or
// goroutine of its own, and the end of the connection is the end of the wait: the client
// leaves, or the server closes it. What the client sends meanwhile, requests after the
// one that waits, is kept for later.
//
// A client that ends what it sends (FIN) and one that is gone look alike. It counts as
// gone, unless it said that the request is its last: then there is nothing else to be
// sent, and it may well wait for the answer, as "printf … | nc -N" does.

// pauseEnd is why a pause ended.
type pauseEnd uint8

// Why a pause ends.
const (
	pauseDue   pauseEnd = iota // its time came
	pauseWoken                 // wake was called, now or before: see whether what is waited for is there
	pauseLeft                  // the client left, or the server ended: the request is not answered
)

const (
	// maxAhead bounds what is kept of requests that come while one waits, in bytes. Who
	// sent more is not heard until that is answered: that it left is not seen then.
	maxAhead = MaxHeader
	// aheadRoom is by how much at a time there is room for it.
	aheadRoom = 2 << 10
	// alarmLead is how long before the end of a pause the alarm is told of it.
	alarmLead = time.Second
)

// pausing is the state of a connection's pauses that others have a part in.
type pausing struct {
	mu     sync.Mutex // guards what follows
	reads  bool       // the pause is a read, which a deadline ends
	woken  bool       // wake was called, and no pause has told
	closed bool
	signal chan struct{} // ends a pause that is no read; nil before there was one
}

// pause waits for a time, or for Wake, in the connection's goroutine, which alone may
// call it. A zero time never comes. After pauseLeft the connection is closed, and what
// is written to it is lost.
func (c *Connection) pause(until time.Time) pauseEnd {
	if !until.IsZero() && !time.Now().Before(until) {
		return pauseDue
	}
	defer func() { c.readInForce, c.restsUntil = time.Time{}, 0 }() // it is another one
	for !c.deaf && len(c.held) < maxAhead {
		if c.beginRead(until) {
			return pauseWoken
		}
		room := c.room()
		n, err := c.Conn.Read(room)
		woken := c.endRead()
		c.keep(room[:n])
		switch {
		case woken:
			return pauseWoken
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !until.IsZero() && !time.Now().Before(until) {
				return pauseDue
			}
		case err == io.EOF && c.framing.stage == atEnd:
			c.deaf = true
		case err != nil:
			c.left = true
			_ = c.CloseNow() // nobody is there
			return pauseLeft
		}
	}
	return c.sleep(until)
}

// Wait waits for Wake, or for something else, and reports whether the client left.
func (c *Connection) Wait() (left bool) { return c.pause(time.Time{}) == pauseLeft }

// WaitUntil waits for a time, and reports whether the client left.
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

// Left reports whether the client has left. The request is being worked on, and not
// waiting: what is read meanwhile is kept, as in a pause.
func (c *Connection) Left() bool {
	if left, inside := c.asksInside(); inside {
		return left
	}
	return c.left || c.pause(time.Now().Add(time.Millisecond)) == pauseLeft
}

// beginRead sets the deadline of a pause, unless wake was called already.
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
		until = early // and then again: the alarm keeps no times of clients that left long before
	default:
		c.from.alarm.at(until)
	}
	_ = c.Conn.SetReadDeadline(until) // reading fails too
	return false
}

func (c *Connection) endRead() (woken bool) {
	p := &c.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	woken, p.woken, p.reads = p.woken, false, false
	return woken
}

// room is where a pause reads to: behind what is held.
func (c *Connection) room() []byte {
	if c.held == nil {
		return c.first[:]
	}
	if len(c.held) == cap(c.held) {
		c.held = slices.Grow(c.held, aheadRoom)
		c.store = c.held
	}
	return c.held[len(c.held):min(cap(c.held), maxAhead)]
}

// keep holds what a pause has read.
func (c *Connection) keep(b []byte) {
	if len(b) == 0 {
		return
	}
	c.heldAt = time.Now()
	if c.held == nil {
		c.held = append(make([]byte, 0, aheadRoom), b...)
		c.store = c.held
		return
	}
	c.held = c.held[:len(c.held)+len(b)]
	c.store = c.held
}

// sleep is pause for a connection that there is nothing to be read from.
func (c *Connection) sleep(until time.Time) pauseEnd {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
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

// Wake ends the pause that the connection is in, or else the next one. Any goroutine
// may call it, under whatever lock. A pause for something else may end with it too, so
// who pauses looks whether what is waited for is there, and pauses again.
func (c *Connection) Wake() {
	p := &c.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
	p.stir()
	if p.reads {
		_ = c.Conn.SetReadDeadline(past) // it is closed otherwise, which ends the pause as well
	}
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// end ends the pauses of a connection that is closed.
func (p *pausing) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.stir()
}

func (p *pausing) stir() {
	select {
	case p.signal <- struct{}{}: // nil where no pause waits for it
	default:
	}
}
