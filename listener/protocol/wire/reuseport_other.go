//go:build !linux

package wire

import (
	"errors"
	"syscall"
)

// ReusePort fails: it is supported on Linux only.
func ReusePort(string, string, syscall.RawConn) error {
	return errors.New("several processes can share a port on Linux only")
}
