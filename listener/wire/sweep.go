package wire

import (
	"sync/atomic"
	"time"
)

// A connection that stays waits for its next request without asking the socket whether it is
// there already: the poller tells what comes. But it tells once of what comes together, so
// the end of what a client sends may have been told with its last request, of which the
// connection read no more than the bytes. Such connections are found by a sweep: those that
// have been idle from one to the next are looked at, once.

// sweepEvery is the time between two sweeps. There are none while no connection becomes idle.
const sweepEvery = 100 * time.Millisecond

// idleness is whether a connection reads for another request, all answers being sent, and
// what the sweeps know of that. Who takes it may set the next deadline: the connection with
// a request, or the end of the server.
type idleness struct{ state atomic.Uint32 }

const (
	isBusy  = iota
	isIdle  // since the last sweep
	isStill // at the last sweep, too
	isSeen  // to be there, and not looked at any more
)

func (i *idleness) begin()      { i.state.Store(isIdle) }
func (i *idleness) now() bool   { return i.state.Load() != isBusy }
func (i *idleness) taken() bool { return i.state.Swap(isBusy) != isBusy }

// sweeper is what the sweeps of all connections are at.
type sweeper struct {
	state atomic.Uint32
	all   []*Connection // room for those of a sweep
}

const (
	noSweep   = iota
	soon      // a sweep is to come
	sweeping  // it is under way
	sweepMore // and another one is wanted
)

// sweepSoon has the connections swept.
func (c *Connections) sweepSoon() {
	switch state := &c.sweeper.state; state.Load() {
	case noSweep:
		if state.CompareAndSwap(noSweep, soon) {
			time.AfterFunc(sweepEvery, c.sweep)
		}
	case sweeping: // maybe past the connection that became idle
		state.CompareAndSwap(sweeping, sweepMore)
	}
}

// sweep wakes the connections whose client has ended what it sends: they find its end when
// they are parked. Of the time it takes a fivehundredth at most.
func (c *Connections) sweep() {
	w := &c.sweeper
	w.state.Store(sweeping)
	begun, again := time.Now(), false
	w.all = c.appendAll(w.all[:0])
	for _, conn := range w.all {
		switch state := &conn.idle.state; {
		case conn.stay == nil:
		case state.CompareAndSwap(isIdle, isStill):
			again = true
		case state.CompareAndSwap(isStill, isSeen) && conn.hasEnded():
			_ = conn.Conn.SetReadDeadline(begun) // else it is closed already
		}
	}
	clear(w.all) // they may be closed meanwhile
	if again || !w.state.CompareAndSwap(sweeping, noSweep) {
		w.state.Store(soon)
		time.AfterFunc(max(sweepEvery, 500*time.Since(begun)), c.sweep)
	}
}
