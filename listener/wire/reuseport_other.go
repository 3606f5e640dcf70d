//go:build !linux

package wire

import (
	"errors"
	"syscall"
)

// ReusePort fails: it is known on Linux only.
func ReusePort(string, string, syscall.RawConn) error {
	return errors.New("several processes share a port on Linux only")
}
