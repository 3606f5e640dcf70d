//go:build !linux

package load

import "net"

// generators is one for all connections, by goroutines.
func (l *Plan) generators(address *net.TCPAddr, c *schedule) ([]generator, error) {
	return []generator{newCrew(l, address, c)}, nil
}
