//go:build race

package wire

import "syscall"

// These tell the race detector that what was done before a write is seen after the read of
// it, as net does.

func recv(fd int, b []byte, flags int) (n int, err syscall.Errno) {
	var failed error
	if flags != 0 {
		n, _, failed = syscall.Recvfrom(fd, b, flags)
	} else {
		n, failed = syscall.Read(fd, b)
	}
	err, _ = failed.(syscall.Errno)
	return n, err
}

func send(fd int, b []byte) (n int, err syscall.Errno) {
	n, failed := syscall.Write(fd, b)
	err, _ = failed.(syscall.Errno)
	return n, err
}
