package dispatcher

import (
	"fmt"
	"time"
)

// entry is one pending delivery.
type entry struct {
	due     time.Duration // on the queue's clock
	parts   []byte
	id      uint64 // ID in the store; 0 without a store; see unstored
	next    uint32 // in the list of its target's ready entries, or in the list of free entries
	webhook uint32
	target  uint32
	attempt uint16
	depth   uint8
	state   state
}

// name returns the ID of an entry. Numbers are reused, so the ID includes the due time.
func (e *entry) name(id uint32) string { return fmt.Sprintf("%d-%d", id, int64(e.due)) }

// state is the stage that an entry is in.
type state uint8

const (
	free      state = iota // not a delivery
	waiting                // in the timing wheel
	ready                  // at its target, waiting for a worker
	inFlight               // with a worker
	cancelled              // at its target, but must not be sent
)
