package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// MaxSize is the maximum size of a file that is read completely, in bytes.
const MaxSize = 64 << 20

var (
	// ErrTooLarge is returned by Read for a file of more than MaxSize bytes.
	ErrTooLarge = errors.New("the file is larger than the limit of 64 MiB")
	// ErrLocked is returned by Lock if another process has the file open.
	ErrLocked = errors.New("in use by another process")
	// ErrDirectory is returned by Read for a directory.
	ErrDirectory = errors.New("is a directory; expected a file")
)

// Read returns the content of a regular file. The errors are worded so that they can follow its
// name.
func Read(path string) ([]byte, error) {
	f, info, err := Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")):
		return nil, errors.New("is a URL; expected a file or a directory")
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case errors.Is(err, ErrNotRegular) && info.IsDir():
		return nil, ErrDirectory
	case errors.Is(err, ErrNotRegular):
		return nil, errors.New("is not a regular file but a pipe, a socket or a device; expected a file")
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", Bare(err))
	}
	defer f.Close()
	if info.Size() > MaxSize {
		return nil, ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", Bare(err))
	case len(data) > MaxSize:
		return nil, ErrTooLarge
	}
	return data, nil
}

// Bare returns an error without the operation and the path, for a message that already names the
// file.
func Bare(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Absolute returns the absolute path, or the path itself if there is no working directory.
func Absolute(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}
