package fetcher

import (
	"bytes"
	"fmt"
	"io"

	"mockserver/internal/wording"
)

// readAll reads everything, at most limit bytes. size is the expected number of bytes.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(limit)
	}
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = tooLarge(limit)
	}
	return buf.Bytes(), err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: more than %s", ErrTooLarge, wording.Size(limit))
}
