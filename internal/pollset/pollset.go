// Package pollset waits for input on many sockets without a goroutine for each. It has a Set on Linux
// only, by epoll.
package pollset

import "time"

// Entry is the place of one socket in a Set. The zero value is an entry that is not in a set. It must
// not be copied once it was.
type Entry struct {
	// Owner is for the owner of the socket.
	Owner any
	// Waited is how long the entry was in the set when it last left it with input, or by Take.
	Waited time.Duration // while it waits, minus the time since the set's base at which it was added

	slot uint32
	fd   int32 // the descriptor with which epoll knows it; 0 for none

	// Stays means that the entry is added again within the call of ready, so that the system need not be
	// told. If it is not, Drop is called first.
	Stays bool
	// Again means that there may be more input than what the last event was for.
	Again bool

	loop  uint8
	state state
	edge  bool // it reports each input once, and keeps its slot while it is outside
}

// state says who has an entry.
type state uint8

const (
	outside state = iota
	waiting       // the set has it
	taken         // the one who called Take has it
)
