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

// maxWindow limits the memory that a zstd frame may make its reader allocate, in bytes.
const maxWindow = 128 << 20

// OpenUnpacked opens a regular file for reading. If its name ends with .gz or .zst, its content is
// unpacked. Reading more than limit bytes is an error. The caller must close the reader.
func OpenUnpacked(path string, limit int64) (io.ReadCloser, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, Bare(err)
	}
	u := &unpacked{r: f, left: limit, limit: limit, file: f}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("unpack: %w", err)
		}
		u.r = z
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("unpack: %w", err)
		}
		u.r, u.packed = z, z
	}
	return u, nil
}

// ErrTooMuch is returned when more than the limit of OpenUnpacked is read.
var ErrTooMuch = errors.New("file is too large")

type unpacked struct {
	r           io.Reader
	left, limit int64
	file        *os.File
	packed      *zstd.Decoder // nil for none
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, fmt.Errorf("%w: expected at most %s", ErrTooMuch, wording.Size(u.limit))
	}
	return n, err
}

// Close closes the file and the decoder.
func (u *unpacked) Close() error {
	if u.packed != nil {
		u.packed.Close()
	}
	return u.file.Close()
}
