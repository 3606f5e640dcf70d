//go:build !race

package sockio

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These are the socket variants of read and write: they take a tenth of a microsecond less than the
// ones that go through the file system. The versions in x/sys take an address, which costs an
// allocation. They never block, so the scheduler is not notified: on a contended CPU it would hand
// the goroutines of a thread that is interrupted in a call to another thread, and back.

// Recv receives from a socket, and does not block.
func Recv(fd int, b []byte, flags int) (n int, err syscall.Errno) {
	r, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(flags), 0, 0)
	return int(r), err
}

// Send sends to a socket, and does not block.
func Send(fd int, b []byte) (n int, err syscall.Errno) {
	r, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(r), err
}
