//go:build unix

package e2e_test

import (
	"os"
	"syscall"
	"testing"
)

// MakePipe creates a named pipe.
func MakePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

const executable = "" // the file name extension of programs

// lock acquires a lock that only one process can hold, and waits for it if necessary.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return func() { _ = file.Close() }, err
		}
	}
}
