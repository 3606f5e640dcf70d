// Package pollset waits for input on many sockets without a goroutine for each. It has a Set on Linux
// only, by epoll.
package pollset

// Entry is the place of one socket in a Set. The zero value is an entry that is not in a set. It must
// not be copied once it was.
type Entry struct {
	// Owner is for the owner of the socket.
	Owner any

	slot  uint32
	fd    int32 // the descriptor with which epoll knows it; 0 for none
	state state
}

// state says who has an entry.
type state uint8

const (
	outside state = iota
	waiting       // the set has it
	taken         // the one who called Take has it
)
