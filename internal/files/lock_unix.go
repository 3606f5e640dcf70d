//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Lock opens a file, which it creates if necessary, so that no other process can open it with Lock
// at the same time. It returns ErrLocked if another process has the file open.
func Lock(path string) (*os.File, error) { return lock(path, os.O_CREATE) }

// TryLock returns the error that creating the directory of a file and calling Lock would return. It
// creates nothing, and has the file open only for a moment.
func TryLock(path string) error {
	dir := filepath.Dir(path)
	for _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(dir) {
		dir = filepath.Dir(dir)
	}
	const change = 2 | 1                                     // W_OK and X_OK
	if err := syscall.Access(dir+"/.", change); err != nil { // also of what is not a directory
		return &os.PathError{Op: "write", Path: dir, Err: err}
	}
	f, err := lock(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = f.Close() // nothing was written
	}
	return err
}

func lock(path string, create int) (*os.File, error) {
	f, err := os.OpenFile(path, create|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}
