package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mockserver/internal/wording"
)

// maxWindow limits the memory that a zstd frame may make its reader allocate, in bytes. It is the
// default limit of the program zstd.
const maxWindow = 128 << 20

// Unpacker returns the function that opens the content of a file packed as the extension of its name
// says, .gz or .zst; nil for any other.
func Unpacker(extension string) func(io.Reader) (io.ReadCloser, error) {
	switch extension {
	case ".gz":
		return func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }
	case ".zst":
		return func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		}
	}
	return nil
}

// OpenUnpacked opens a regular file for reading. If its name ends with .gz or .zst, its content is
// unpacked. Reading more than limit bytes is an error. The caller must close the reader.
func OpenUnpacked(path string, limit int64) (io.ReadCloser, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, Bare(err)
	}
	u := &unpacked{ReadCloser: f, left: limit, limit: limit, file: f}
	if open := Unpacker(strings.ToLower(filepath.Ext(path))); open != nil {
		if u.ReadCloser, err = open(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("unpack: %w", err)
		}
	}
	return u, nil
}

// ErrTooMuch is returned when more than the limit of OpenUnpacked is read.
var ErrTooMuch = errors.New("file is too large")

type unpacked struct {
	io.ReadCloser // the content; the file itself if it is not packed
	left, limit   int64
	file          *os.File
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, fmt.Errorf("%w: expected at most %s", ErrTooMuch, wording.Size(u.limit))
	}
	return n, err
}

// Close closes the file and the decoder.
func (u *unpacked) Close() error {
	err := u.ReadCloser.Close()
	u.file.Close() // which may be closed already
	return err
}
