package wire

import (
	"sync/atomic"
	"time"
)

// clock caches the time, up to clockTick old, for the deadlines of connections. Each request needs
// the time, and asking the system for it takes a hundred times as long as reading the clock.
type clock struct {
	base  time.Time
	since atomic.Int64           // nanoseconds from base to the last tick
	timer *time.Timer            // nil while no connection is open; its owner's lock guards it
	date  atomic.Pointer[[]byte] // the time of the last tick, formatted for headers
}

// clockTick is how far the clock may lag; if its timer fires late, the clock lags that much more.
// No deadline is set closer than clockTick.
const clockTick = time.Second

// elapsed returns the time from base to the last tick.
func (c *clock) elapsed() time.Duration { return time.Duration(c.since.Load()) }

// exactly returns the time from base to now.
func (c *clock) exactly() time.Duration { return time.Since(c.base) }

// start starts the clock, which calls tick after a second, and after each call of set.
func (c *clock) start(tick func()) {
	if c.base.IsZero() {
		c.base = time.Now()
	}
	c.set()
	c.timer = time.AfterFunc(clockTick, tick)
}

// set sets the clock, and schedules the next tick.
func (c *clock) set() {
	now := time.Now()
	c.since.Store(int64(now.Sub(c.base)))
	date := now.UTC().AppendFormat(make([]byte, 0, 32), "Mon, 02 Jan 2006 15:04:05 GMT")
	c.date.Store(&date)
	if c.timer != nil {
		c.timer.Reset(clockTick)
	}
}
