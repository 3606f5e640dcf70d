// Package pollset waits for input on many sockets without a goroutine for each. It has a Set on Linux
// only, by epoll.
package pollset

import "time"

// Entry is the place of one socket in a Set. The zero value is an entry that is not in a set. It must
// not be copied once it was.
type Entry struct {
	// Owner is for the owner of the socket.
	Owner any

	next, prev *Entry // of its class, in the order of their deadlines
	due        time.Duration
	slot       uint32
	fd         int32 // the descriptor with which epoll knows it; 0 for none
	class      Class
	state      state
}

// Class says how long an entry waits. The entries of a class have the same timeout, so that they are
// due in the order in which they were added.
type Class uint8

// state says who has an entry.
type state uint8

const (
	outside state = iota
	waiting       // the set has it
	taken         // the one who called Take has it
)
