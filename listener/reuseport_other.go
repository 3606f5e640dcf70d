//go:build !linux

package listener

import (
	"errors"
	"syscall"
)

func reusePort(string, string, syscall.RawConn) error {
	return errors.New("several processes share a port on Linux only")
}
