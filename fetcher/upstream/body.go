package upstream

import (
	"cmp"
	"errors"
	"io"
	"slices"
)

// Short is the maximum size in bytes of a body that is read completely before any of it is passed
// on.
const Short = 64 << 10

// errMore is returned if a read would block but must not.
var errMore = errors.New("there is more to come")

// unexpected turns the end of the connection inside a message into an error.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads the body, until io.EOF, which may come with its last bytes. Any other error means that the answer is broken.
func (x *Exchange) Read(p []byte) (n int, err error) { return x.read(p, true) }

// read is like Read. If it must not wait, and nothing more was received, the error is errMore.
func (x *Exchange) read(p []byte, waits bool) (n int, err error) {
	for n == 0 && err == nil {
		switch {
		case x.body.Over():
			return 0, io.EOF
		case x.body.Err != nil:
			err = x.body.Err
		case x.r < len(x.in):
			n = copy(p, x.in[x.r:])
			x.r += n
		case !waits:
			return 0, errMore
		default:
			n, err = x.readConn(p)
		}
		if err == io.EOF && x.body.End() {
			return 0, io.EOF
		}
		if err == nil {
			var excess int
			n, excess, _ = x.body.Strip(p[:n]) // an error is returned by the next call, or at once if n is 0
			x.closes = x.closes || excess > 0
			if x.body.Over() { // said at once, because the client may leave as soon as it has everything
				return n, io.EOF
			}
		}
	}
	if err != nil {
		x.closes = true
		err = x.cause(unexpected(err))
	}
	return n, err
}

// readWhole reads the body into room if it is short, and sets Whole if it read the whole body. If
// most is above 0, it reads the whole body; a body of more than most bytes is an error. Of a streamed
// body it reads only what has arrived.
func (x *Exchange) readWhole(room []byte, most int64) error {
	x.Body = room[:0]
	sized := x.Length >= 0
	if x.Streamed {
		sized, most = false, 0
	}
	if x.body.Over() {
		x.Whole = true
		return nil
	}
	if sized && most == 0 && x.Length > Short {
		return nil
	}
	limit := cmp.Or(most, Short)
	for {
		if len(x.Body) == cap(x.Body) {
			x.Body = slices.Grow(x.Body, int(min(max(512, x.Length-int64(len(x.Body))), Short)))
		}
		n, err := x.read(x.Body[len(x.Body):cap(x.Body)], sized || most > 0)
		x.Body = x.Body[:len(x.Body)+n]
		switch {
		case int64(len(x.Body)) > limit && most > 0:
			return errTooLarge
		case err == io.EOF:
			x.Whole, x.Length = true, int64(len(x.Body))
			return nil
		case err == errMore:
			return nil
		case err != nil:
			return err
		case int64(len(x.Body)) > limit:
			return nil
		}
	}
}
