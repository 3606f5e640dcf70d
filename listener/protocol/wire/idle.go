package wire

import "sync/atomic"

// idleness records whether a connection is reading for another request, with all responses sent,
// and what the sweeps know about it. Whoever changes the state from idle may set the next deadline:
// the connection when it has a request, or the server when it stops.
type idleness struct{ state atomic.Uint32 }

const (
	isBusy  = iota
	isIdle  // became idle after the last sweep
	isStill // was idle at the last sweep
	isSeen  // was checked by a sweep, and is not checked again
)

func (i *idleness) begin() { i.state.Store(isIdle) }

func (i *idleness) park() { i.state.Store(isSeen) } // a parked connection looks for input itself

func (i *idleness) now() bool { return i.state.Load() != isBusy }

func (i *idleness) taken() bool { return i.state.Swap(isBusy) != isBusy }
