package wire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ReusePort lets other sockets listen at the same address.
func ReusePort(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	if err != nil {
		return err
	}
	return failed
}
