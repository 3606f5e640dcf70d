// Package files opens and lists what configurations are read from: regular files, and
// directories of them.
package files

import (
	"errors"
	"io/fs"
	"os"
)

// ErrNotRegular is the error of opening what is no file to be read: a directory,
// a pipe, a socket or a device.
var ErrNotRegular = errors.New("it is not a regular file")

// Open opens a regular file for reading, and returns what it is as of
// then. Anything else gives ErrNotRegular and what it is instead; opening never
// waits, as that of a pipe would for its writer. The caller closes the file.
func Open(path string) (*os.File, fs.FileInfo, error) {
	return openRegular(os.Stat, os.OpenFile, path)
}

// OpenIn is Open of a name below root, which it cannot leave.
func OpenIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return openRegular(root.Stat, root.OpenFile, name)
}

// openRegular looks before it opens, since opening a device can have effects, and
// again afterwards, since the file may have been swapped.
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
