package pollset

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls do not block, so the scheduler is not notified of them.

// control changes what an epoll instance knows of a descriptor.
func control(epoll, op, fd int, event *unix.EpollEvent) syscall.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(event)), 0, 0)
	return err
}

// wait returns the number of events that are pending; a negative number if epoll fails.
func wait(epoll int, events []unix.EpollEvent) int {
	for {
		n, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
		switch err {
		case 0:
			return int(n)
		case unix.EINTR:
		default:
			return -1
		}
	}
}
