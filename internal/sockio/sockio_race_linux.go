//go:build race

package sockio

import "syscall"

// For the race detector, these functions make whatever happened before a write visible after the
// corresponding read, as package net does.

// Recv receives from a socket, and does not block.
func Recv(fd int, b []byte, flags int) (n int, err syscall.Errno) {
	var failed error
	if flags != 0 {
		n, _, failed = syscall.Recvfrom(fd, b, flags)
	} else {
		n, failed = syscall.Read(fd, b)
	}
	err, _ = failed.(syscall.Errno)
	return n, err
}

// Send sends to a socket, and does not block.
func Send(fd int, b []byte) (n int, err syscall.Errno) {
	n, failed := syscall.Write(fd, b)
	err, _ = failed.(syscall.Errno)
	return n, err
}
