//go:build unix

package files

import (
	"os"
	"syscall"
)

// Lock opens a file that only one process can have open at a time. For any other process it returns
// ErrLocked.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, ErrLocked
	}
	return f, nil
}
