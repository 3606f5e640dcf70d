//go:build !linux

package bench

import "net"

// generators is one for all connections, by goroutines.
func (l *load) generators(address *net.TCPAddr, c *course) ([]generator, error) {
	return []generator{newCrew(l, address, c)}, nil
}
