package rows

import (
	"errors"
	"fmt"
	"io"
)

// maxUnpacked is the maximum size of a packed file when unpacked, in bytes.
const maxUnpacked = 4 << 30

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
