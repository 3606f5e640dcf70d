package fetcher

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"mockserver/internal/wording"
)

// Content of unknown size is read into pieces, which are joined at the end: a buffer that grows would
// leave copies behind, and have room for more than the limit.
const (
	minPiece = 512
	maxPiece = 1 << 20
)

// largePieces holds unused pieces of maxPiece bytes.
var largePieces = sync.Pool{New: func() any { return new([maxPiece]byte) }}

// readAll reads everything, at most limit bytes. size is the expected number of bytes.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(limit)
	}
	var pieces [][]byte
	defer func() {
		for _, piece := range pieces {
			if cap(piece) == maxPiece {
				largePieces.Put((*[maxPiece]byte)(piece[:maxPiece]))
			}
		}
	}()
	piece := make([]byte, 0, size+minPiece)
	for total := int64(0); ; {
		n, err := r.Read(piece[len(piece):cap(piece)])
		piece, total = piece[:len(piece)+n], total+int64(n)
		if err == io.EOF && pieces == nil && total <= limit {
			return piece, nil
		}
		if err == nil && len(piece) < cap(piece) && total <= limit {
			continue
		}
		pieces = append(pieces, piece)
		switch {
		case total > limit:
			return nil, tooLarge(limit)
		case err == io.EOF:
			return slices.Concat(pieces...), nil
		case err != nil:
			return nil, err
		case total < maxPiece:
			piece = make([]byte, 0, total)
		default:
			piece = largePieces.Get().(*[maxPiece]byte)[:0]
		}
	}
}

// unpack returns what write writes, at most limit bytes. If that is much, write is called again once
// its size is known, so that it needs no more memory than its size, and none if it is too large.
func unpack(write func(io.Writer) error, limit int64) ([]byte, error) {
	first := &unpacked{limit: limit, room: maxPiece}
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
