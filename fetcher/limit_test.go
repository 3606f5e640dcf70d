package fetcher

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"
)

func TestReadAll_AcceptsUpToTheLimit(t *testing.T) {
	const limit = 3000
	for _, size := range []int{0, 1, minRoom, minRoom + 1, limit - 1, limit, limit + 1, 4 * limit} {
		for _, expected := range []int64{0, int64(size)} {
			content := bytes.Repeat([]byte("x"), size)
			got, err := new(reader).readAll(iotest.DataErrReader(bytes.NewReader(content)), expected, limit)
			if size > limit {
				if !errors.Is(err, ErrTooLarge) {
					t.Errorf("%d bytes: error %v, want that they are too large", size, err)
				}
				continue
			}
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes: got %d, %v", size, len(got), err)
			}
		}
	}
	if _, err := new(reader).readAll(iotest.TimeoutReader(iotest.HalfReader(bytes.NewReader(make([]byte, limit)))), 0, limit); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("error %v, want that of the reader", err)
	}
}

// A content of unknown size near the limit costs little more memory than its size.
func TestReadAll_LeavesFewCopies(t *testing.T) {
	const limit, size = 8 << 20, 15 << 19 // more than half of the limit
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	content, err := new(reader).readAll(io.LimitReader(zeros{}, size), 0, limit)
	runtime.ReadMemStats(&after)
	if err != nil || len(content) != size {
		t.Fatalf("got %d bytes, %v", len(content), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > limit*3/2 {
		t.Errorf("%d bytes were allocated for %d, want at most %d", used, size, limit*3/2)
	}
	r := new(reader) // its buffer from an endless content with a much higher limit is not kept with a content
	if _, err := r.readAll(zeros{}, 0, 4*limit); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an endless content: error %v, want that it is too large", err)
	}
	if content, err = r.readAll(io.LimitReader(zeros{}, size), 0, limit); err != nil || cap(content) > 2*limit {
		t.Errorf("a buffer of %d bytes for %d, %v", cap(content), len(content), err)
	}
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
