package wire

import (
	"sync/atomic"
	"time"
)

// A connection that stays waits for its next request without checking whether the socket already
// has data: the poller reports new data. But it reports events that arrive together only once: the
// end of what a client sends may have been reported with its last request, when the connection read
// only the bytes. And reading stops at a byte of urgent data. A sweep finds such connections: it
// checks, once, those that have been idle from one sweep to the next.

// sweepEvery is the time between two sweeps. Sweeps stop while no connection becomes idle.
const sweepEvery = 100 * time.Millisecond

// sweeper is the state of the sweeps of all connections.
type sweeper struct {
	state atomic.Uint32
	all   []*Connection // buffer for the connections of a sweep
}

const (
	noSweep   = iota
	soon      // a sweep is scheduled
	sweeping  // a sweep is in progress
	sweepMore // another sweep is needed after the one in progress
)

// sweepSoon schedules a sweep of the connections.
func (c *Connections) sweepSoon() {
	for state := &c.sweeper.state; ; { // until the state that was read is the state that is changed
		switch state.Load() {
		case noSweep:
			if state.CompareAndSwap(noSweep, soon) {
				time.AfterFunc(sweepEvery, c.sweep)
				return
			}
		case sweeping: // the sweep may already have passed the connection that became idle
			if state.CompareAndSwap(sweeping, sweepMore) {
				return
			}
		default:
			return
		}
	}
}

// sweep wakes the connections that have something to read; they find it when they are parked.
// Sweeps take at most one five-hundredth of the time.
func (c *Connections) sweep() {
	w := &c.sweeper
	w.state.Store(sweeping)
	begun, again := time.Now(), false
	w.all = c.appendAll(w.all[:0])
	for _, conn := range w.all {
		switch state := &conn.idle; {
		case conn.stay == nil:
		case state.CompareAndSwap(isIdle, isStill):
			again = true
		case state.CompareAndSwap(isStill, isSeen) && conn.hasInput():
			conn.wake()
		}
	}
	clear(w.all) // they may be closed by now
	if again || !w.state.CompareAndSwap(sweeping, noSweep) {
		w.state.Store(soon)
		time.AfterFunc(max(sweepEvery, 500*time.Since(begun)), c.sweep)
	}
}

// wake ends the wait of an idle connection, unless the wait has already ended.
func (c *Connection) wake() {
	c.from.hurrying.Lock()
	defer c.from.hurrying.Unlock()
	if c.takeIdle() {
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // it fails only if the connection is already closed
	}
}
