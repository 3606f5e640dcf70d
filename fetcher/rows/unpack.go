package rows

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxUnpacked is the maximum size of a packed file when unpacked, in bytes.
	maxUnpacked = 4 << 30
	// maxWindow limits the memory that a zstd frame may make its reader allocate, in bytes. It is
	// the default limit of the program zstd.
	maxWindow = 128 << 20
)

var unpackers = map[string]func(io.Reader) (io.ReadCloser, error){
	".gz": func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
	".zst": func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// bounded reads unpacked data up to a limit, and marks its errors as errors of unpacking.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		return 0, problem(Place{}, "unpacks to more than 4 GiB")
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("unpack: %w", err)
	}
	return n, err
}
