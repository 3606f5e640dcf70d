//go:build !linux

package load

import "net"

// generators returns one generator for all connections, which uses goroutines.
func (l *Plan) generators(address *net.TCPAddr, c *schedule) ([]generator, error) {
	return []generator{newCrew(l, address, c)}, nil
}
