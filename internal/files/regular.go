// Package files opens and lists the files that configurations are read from: regular files, and
// directories of such files.
package files

import (
	"errors"
	"io/fs"
	"os"
)

// ErrNotRegular is returned by Open and OpenIn for anything other than a regular file: a directory,
// a pipe, a socket or a device.
var ErrNotRegular = errors.New("it is not a regular file")

// Open opens a regular file for reading, and returns its FileInfo as of that time. For anything
// else it returns ErrNotRegular and the FileInfo. It never blocks, unlike opening a pipe, which
// waits for a writer. The caller must close the file.
func Open(path string) (*os.File, fs.FileInfo, error) {
	return openRegular(os.Stat, os.OpenFile, path)
}

// OpenIn is like Open for a name below root. The name cannot refer to anything outside root.
func OpenIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return openRegular(root.Stat, root.OpenFile, name)
}

// openRegular checks the file before it opens it, since opening a device can have side effects, and
// again afterwards, since the file may have been replaced.
func openRegular(
	stat func(string) (fs.FileInfo, error),
	openFile func(string, int, fs.FileMode) (*os.File, error),
	name string,
) (*os.File, fs.FileInfo, error) {
	info, err := stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, ErrNotRegular
	}
	f, err := openFile(name, openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, info, err
	}
	return f, info, nil
}
