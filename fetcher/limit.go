package fetcher

import (
	"fmt"
	"io"
	"sync"
	"time"

	"mockserver/internal/wording"
)

const (
	// minRoom is how much more room than expected content takes is made at first, in bytes: its end is
	// noticed without another buffer.
	minRoom = 512
	// counted is how much of unpacked content is kept before its size is known, in bytes.
	counted = 1 << 20
)

// reader reads contents. It keeps the buffer of one that was too large for a while: an endless content
// that is requested again and again would otherwise take twice the limit, or more, until the garbage
// collector runs.
type reader struct {
	mu     sync.Mutex
	unused []byte // guarded by mu: nil if there is none
}

// keepUnused is how long an unused buffer is kept.
const keepUnused = 5 * time.Second

// readAll reads everything, at most limit bytes. size is the expected number of bytes. A buffer that
// is too small grows fourfold, and soon to the limit: the copies left behind then take an eighth of
// it at most.
func (b *reader) readAll(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(limit)
	}
	content := make([]byte, 0, size+minRoom)
	for {
		n, err := r.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case int64(len(content)) > limit:
			b.set(content[:0])
			return nil, tooLarge(limit)
		case err == io.EOF:
			return content, nil
		case err != nil:
			return nil, err
		case len(content) == cap(content):
			content = append(b.larger(4*int64(cap(content)), limit), content...)
		}
	}
}

// larger returns an empty buffer of size bytes, or of a little more than limit if that is not far.
func (b *reader) larger(size, limit int64) []byte {
	if size < limit/2 {
		return make([]byte, 0, size)
	}
	unused := b.set(nil)
	if n := int64(cap(unused)); limit < n && n <= 2*limit { // not that of a much higher limit, because contents are kept
		return unused
	}
	return make([]byte, 0, limit+1)
}

// set replaces the unused buffer, and returns the one before.
func (b *reader) set(unused []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.unused
	b.unused = unused
	if unused != nil {
		time.AfterFunc(keepUnused, func() { b.set(nil) })
	}
	return before
}

// unpack returns what write writes, at most limit bytes. If that is much, write is called again once
// its size is known, so that it needs no more memory than its size, and none if it is too large.
func unpack(write func(io.Writer) error, limit int64) ([]byte, error) {
	first := &unpacked{limit: limit, room: counted}
	if err := write(first); err != nil || first.total == int64(len(first.content)) {
		return first.content, err
	}
	whole := &unpacked{limit: limit, room: first.total, content: make([]byte, 0, first.total)}
	err := write(whole)
	return whole.content, err
}

// unpacked stores the first bytes written to it, as many as there is room for, and counts all.
type unpacked struct {
	limit, room, total int64
	content            []byte
}

// Write fails once there are more than limit bytes.
func (u *unpacked) Write(b []byte) (int, error) {
	if u.total += int64(len(b)); u.total > u.limit {
		return 0, tooLarge(u.limit)
	}
	u.content = append(u.content, b[:min(int64(len(b)), u.room-int64(len(u.content)))]...)
	return len(b), nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: more than %s", ErrTooLarge, wording.Size(limit))
}
