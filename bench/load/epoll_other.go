//go:build !linux

package load

import "net"

// threads returns that one thread has all connections.
func (l *Plan) threads() (n int, spin bool) { return 1, false }

func openSockets(t *thread, address *net.TCPAddr) (sockets, error) {
	return newMembers(t, address), nil
}
