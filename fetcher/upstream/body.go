package upstream

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"mockserver/internal/http1"
)

const (
	// Short is the maximum size in bytes of a body that is read completely before any of it is
	// passed on.
	Short = 64 << 10
	// maxLine limits the size line of a chunk, including its extensions, and maxTrailers the lines
	// after the last chunk, both in bytes.
	maxLine     = 4 << 10
	maxTrailers = 16 << 10
)

// errMore is returned if a read would block but must not.
var errMore = errors.New("there is more to come")

// fill reads once more into the buffer. Earlier content is not moved. If the buffer grows, the old
// one keeps its content for slices that refer to it.
func (x *Exchange) fill() error {
	if x.hasty {
		return errMore
	}
	if x.w == len(x.in) {
		if x.r == x.w && x.r > x.base {
			x.r, x.w = x.base, x.base
		} else {
			x.in = append(x.in, make([]byte, len(x.in))...)
		}
	}
	n, err := x.readConn(x.in[x.w:])
	x.w += n
	if n > 0 {
		return nil
	}
	return err
}

// keepHead prevents the body from overwriting the head in the buffer.
func (x *Exchange) keepHead() {
	x.base = x.r
	if len(x.in)-x.base < headRoom/2 {
		x.in = append(x.in, make([]byte, headRoom)...)
	}
}

// some reads some bytes, from the buffer or directly.
func (x *Exchange) some(p []byte) (int, error) {
	if x.r < x.w {
		n := copy(p, x.in[x.r:x.w])
		x.r += n
		return n, nil
	}
	if x.hasty {
		return 0, errMore
	}
	return x.readConn(p)
}

// line returns the next line without its end, which must be CRLF.
func (x *Exchange) line(most int, long error) ([]byte, error) {
	for {
		if i := bytes.IndexByte(x.in[x.r:x.w], '\n'); i >= 0 {
			line := x.in[x.r : x.r+i]
			if i == 0 || line[i-1] != '\r' {
				return nil, errLineEnd
			}
			x.r += i + 1
			return line[:i-1], nil
		}
		if x.w-x.r > most {
			return nil, long
		}
		if x.w == len(x.in) && x.r > x.base { // make room
			copy(x.in[x.base:], x.in[x.r:x.w])
			x.w -= x.r - x.base
			x.r = x.base
		}
		if err := x.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// unexpected turns the end of the connection inside a message into an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads the body, until io.EOF at its end. Any other error means that the answer is broken.
func (x *Exchange) Read(p []byte) (n int, err error) {
	switch x.framing {
	case sized:
		if x.left == 0 {
			return 0, io.EOF
		}
		n, err = x.some(p[:min(int64(len(p)), x.left)])
		x.left -= int64(n)
		err = unexpected(err)
	case chunked:
		if err = x.nextChunk(); err == nil {
			n, err = x.some(p[:min(int64(len(p)), x.left)])
			x.left -= int64(n)
			x.chunkEnds = x.left == 0
			err = unexpected(err)
		}
	case untilClose:
		n, err = x.some(p)
	default:
		return 0, io.EOF
	}
	if n > 0 {
		err = nil
	}
	if err != nil && err != io.EOF && err != errMore {
		x.closes = true
		err = x.cause(err)
	}
	return n, err
}

// nextChunk reads what precedes the data of a chunk, unless it has already been read: the end of
// the previous chunk, and the size. The error is io.EOF after the last chunk and the trailers.
func (x *Exchange) nextChunk() error {
	if x.ended {
		return io.EOF
	}
	if x.left > 0 {
		return nil
	}
	if x.chunkEnds {
		line, err := x.line(maxLine, errChunkEnd)
		switch {
		case err == errLineEnd || err == nil && len(line) > 0:
			return errChunkEnd
		case err != nil:
			return err
		}
		x.chunkEnds = false
	}
	if !x.trailing {
		line, err := x.line(maxLine, errLongChunk)
		if err != nil {
			return err
		}
		if x.left, err = http1.ChunkSize(line); err != nil || x.left > 0 {
			return err
		}
		x.trailing = true
	}
	for {
		line, err := x.line(maxTrailers, errTrailers)
		switch {
		case err != nil:
			return err
		case len(line) == 0:
			x.ended = true
			return io.EOF
		}
		if _, _, err := http1.CutField(line); err != nil {
			return errTrailer
		}
		if x.trailers += len(line); x.trailers > maxTrailers {
			return errTrailers
		}
	}
}

// readWhole reads the body into room if it is short, and sets Whole if it read the whole body. If
// most is above 0, it reads the whole body; a body of more than most bytes is an error.
func (x *Exchange) readWhole(room []byte, most int64) error {
	x.Body = room[:0]
	if x.framing == noBody {
		x.Whole = true
		return nil
	}
	if x.framing == sized && most == 0 && x.left > Short {
		return nil
	}
	x.hasty = x.framing != sized && most == 0
	defer func() { x.hasty = false }()
	limit := cmp.Or(most, Short)
	for {
		if len(x.Body) == cap(x.Body) {
			x.Body = slices.Grow(x.Body, int(min(max(512, x.left), Short)))
		}
		n, err := x.Read(x.Body[len(x.Body):cap(x.Body)])
		x.Body = x.Body[:len(x.Body)+n]
		switch {
		case err == io.EOF:
			x.Whole = true
			if x.framing == chunked || x.framing == untilClose {
				x.Length = int64(len(x.Body))
			}
			return nil
		case err == errMore:
			return nil
		case err != nil:
			return err
		case int64(len(x.Body)) > limit && most > 0:
			return errTooLarge
		case int64(len(x.Body)) > limit:
			return nil
		}
	}
}
