package wire

import (
	"cmp"
	"net"
	"sync"
	"time"

	"mockserver/internal/pacer"
)

// Delayed is a reply that waits without a goroutine: a whole one, or a stream, whose items are due one after
// the other.
type Delayed interface {
	// Continue appends what is due to b, unless the client has left, and returns when more is due; the zero
	// time at the end, and after the client has left. Of what is due, it may append only Enough bytes and then
	// return a time that has passed. It must not block, and may be called early. last reports whether the
	// connection closes after the reply.
	Continue(b []byte, left bool) (out []byte, next time.Time, last bool)
}

// Enough is how many bytes of a delayed reply are made at once.
const Enough = 16 << 10

// delay is the delayed reply of a connection.
type delay struct {
	pacer.Entry
	mu    sync.Mutex // held while the connection is parked, and while Due takes it; guards due
	due   time.Time  // of what follows
	reply Delayed    // nil for none
	rest  []byte     // what the socket did not take of what was due
	// The socket took nothing from full on, up to roomy, as time since the base of the clock.
	full, roomy time.Duration
}

// Blocked returns since when the socket did not take what was due of a delayed reply last, and when it had taken it.
func (c *Connection) Blocked() (from, to time.Time) {
	return c.TimeOf(c.delay.full), c.TimeOf(c.delay.roomy)
}

// MayDelay reports whether the reply to the plain request that is being served may be delayed.
func (c *Connection) MayDelay() bool {
	return c.plain.Alone && c.secured == nil && c.from.Resume != nil
}

// Delay delays the reply to the request that is being served.
func (c *Connection) Delay(d Delayed, due time.Time) {
	c.delay.mu.Lock()
	defer c.delay.mu.Unlock()
	c.delay.reply, c.delay.due = d, due
}

// sendDelayed sends what is left of a delayed reply, and waits in this goroutine for what follows.
// errDelay means that more follows, and that the connection may be parked until then.
func (c *Connection) sendDelayed() (err error) {
	d := &c.delay
	if d.reply != nil {
		pacer.Cancel(&d.Entry)
	}
	for b := d.rest; b != nil || d.reply != nil; b = d.rest {
		if len(b) > 0 {
			if d.reply != nil && d.full <= d.roomy {
				d.full = c.from.clock.exactly()
			}
			if _, err = c.Write(b); d.reply != nil {
				d.roomy = c.from.clock.exactly()
			}
		}
		d.rest = nil
		switch reply := d.reply; {
		case reply == nil:
			return err
		case err == nil && len(b) > 0 && c.parksAgain() && time.Now().Before(d.due):
			return errDelay
		default:
			left, last := err != nil || c.pause(d.due) == pauseLeft, false
			if d.rest, d.due, last = reply.Continue(b[:0], left); left {
				d.reply, d.rest = nil, nil
				return cmp.Or(err, net.ErrClosed)
			}
			if c.ended = c.ended || last; d.due.IsZero() {
				d.reply = nil
			}
		}
	}
	return nil
}
