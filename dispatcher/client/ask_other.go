//go:build !linux

package client

import "time"

// asking is used only on Linux.
type asking struct{}

// Asks reports whether Ask can be used.
func (c *Conn) Asks() bool { return false }

// Ask must not be called: see Asks.
func (c *Conn) Ask([]byte, []byte, time.Time) (n int, sent bool, err error) {
	panic("not supported on this system")
}
