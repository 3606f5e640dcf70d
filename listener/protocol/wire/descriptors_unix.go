//go:build unix

package wire

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// descriptors reserves some file descriptors of the process for uses other than connections: the
// admin address, webhooks, files. Only the goroutine that accepts uses it, except for border.
type descriptors struct {
	border int  // connections get descriptors below it; 0 means no limit; it does not change
	scarce bool // the last connection got a descriptor at or above the border
}

// mostReserved is the maximum number of descriptors reserved; if the limit is low, an eighth of it
// is reserved.
const mostReserved = 32

func reserveDescriptors() descriptors {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<30 {
		return descriptors{}
	}
	n := int(limit.Cur)
	return descriptors{border: n - min(n/8, mostReserved)}
}

// took notes an accepted connection. The system assigns the smallest free descriptor, whose number
// therefore shows how many are left.
func (d *descriptors) took(conn net.Conn) {
	if s, ok := conn.(interface{ number() int }); ok {
		d.scarce = d.border > 0 && s.number() >= d.border
		return
	}
	raw, ok := conn.(syscall.Conn)
	if d.border == 0 || !ok {
		return
	}
	if control, err := raw.SyscallConn(); err == nil {
		_ = control.Control(func(fd uintptr) { d.scarce = int(fd) >= d.border }) // fails once the connection is closed
	}
}

// left returns an error if no descriptor is left for a connection.
func (d *descriptors) left() error {
	if !d.scarce {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0) // works without any network
	if err == nil {
		d.scarce = fd >= d.border
		_ = unix.Close(fd) // the socket was never used
	}
	if d.scarce {
		return errReserved
	}
	return nil
}
