//go:build unix

package dispatcher

import (
	"os"
	"syscall"
)

// lockFile opens a file that one process may have open at a time.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // it holds nothing
		return nil, errStoreLocked
	}
	return f, nil
}
