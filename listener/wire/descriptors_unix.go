//go:build unix

package wire

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptors keeps some file descriptors of the process for others than connections: the
// admin address, webhooks, files. Only the goroutine that accepts uses it.
type descriptors struct {
	border int  // connections get those below it; 0 is no border
	scarce bool // the last connection got one above
}

// mostKept bounds how many are kept; of a small number it is an eighth.
const mostKept = 32

func keepDescriptors() descriptors {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<30 {
		return descriptors{}
	}
	n := int(limit.Cur)
	return descriptors{border: n - min(n/8, mostKept)}
}

// took notes a connection that was accepted. The system gives the smallest number that is
// free, so it says how many are left.
func (d *descriptors) took(conn net.Conn) {
	raw, ok := conn.(syscall.Conn)
	if d.border == 0 || !ok {
		return
	}
	if control, err := raw.SyscallConn(); err == nil {
		_ = control.Control(func(fd uintptr) { d.scarce = int(fd) >= d.border }) // fails once it is closed
	}
}

// left returns an error while there are none left for a connection.
func (d *descriptors) left() error {
	if !d.scarce {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0) // that needs nothing to be there
	if err == nil {
		d.scarce = fd >= d.border
		_ = unix.Close(fd) // it was never used
	}
	if d.scarce {
		return errKept
	}
	return nil
}
