package client

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"mockserver/internal/http1"
)

const (
	// headBuffer is the size of the buffer that responses are read into, in bytes. The buffer grows
	// for a longer head.
	headBuffer = 4 << 10
	// maxBody is the maximum number of bytes of a body that are read and discarded so that the
	// connection can be reused.
	maxBody = 1 << 20
	// maxInterim limits the number of 1xx responses before the final one.
	maxInterim = 64
	// grace is how long to wait for a response if the request could not be written completely. The
	// target may have responded before the write failed; if so, the response has already arrived.
	grace = 10 * time.Millisecond
	// keptRequest is the largest request buffer worth keeping, in bytes.
	keptRequest = 64 << 10
)

// Exchange contains the buffers for sending a request and reading its response. Only one goroutine
// may use it at a time, for one request after another.
type Exchange struct {
	// Request is the request to send, with its body or the beginning of its body.
	Request []byte
	// RetryAfter is the wait that the last response requested before a retry; 0 if it did not
	// request one.
	RetryAfter time.Duration

	in   []byte // what was received and is not used
	head http1.Head
	body http1.Body
}

// NewExchange returns an exchange with an empty request.
func NewExchange() *Exchange { return &Exchange{in: make([]byte, 0, headBuffer)} }

// Small reports whether the exchange is small enough to keep for further requests.
func (x *Exchange) Small() bool { return cap(x.Request) <= keptRequest && cap(x.in) <= headBuffer }

var errInterim = fmt.Errorf("more than %d interim answers", maxInterim)

// RoundTrip sends the request, followed by rest, over a connection, and returns the status of the
// response. The status is valid as soon as the head has arrived, even if the body is cut off.
// RoundTrip also reports whether the connection can be reused.
func (x *Exchange) RoundTrip(c *Conn, method string, rest []byte) (status int, reusable bool, err error) {
	broken := c.send(x.Request, rest)
	if broken != nil { // the target may have responded before it read everything
		_ = c.SetReadDeadline(time.Now().Add(grace)) // if this fails, so does reading, and broken is returned
	}
	x.in, x.RetryAfter = x.in[:0], 0
	status, whole, err := x.readHead(c)
	switch {
	case err != nil && broken != nil:
		return 0, false, broken
	case err != nil:
		return 0, false, err
	case broken != nil || !whole:
		return status, false, nil
	}
	return status, x.skipBody(c, method == "HEAD"), nil
}

func (c *Conn) send(request, rest []byte) error {
	if len(rest) == 0 {
		_, err := c.Write(request)
		return err
	}
	both := net.Buffers{request, rest}
	_, err := both.WriteTo(c.Conn)
	return err
}

// readHead reads the head of the final answer. If only its status line can be read, readHead
// returns that status, and whole is false.
func (x *Exchange) readHead(c *Conn) (status int, whole bool, err error) {
	for range maxInterim {
		size, err := x.findHead(c)
		var after []byte
		if err == nil {
			err = x.head.Read(x.in[:size], func(name, value []byte) {
				if after == nil && http1.IsName(name, "retry-after") {
					after = value
				}
			})
		}
		status := x.head.Status
		switch {
		case err != nil && status >= 200:
			return status, false, nil
		case err != nil:
			return 0, false, x.headError(c, err)
		case status >= 200:
			x.RetryAfter = retryAfter(status, after, time.Now())
		}
		x.in = x.in[:copy(x.in, x.in[size:])]
		if status >= 200 || status == 101 {
			return status, true, nil
		}
	}
	return 0, false, errInterim
}

// findHead reads until a head is complete, and returns its size.
func (x *Exchange) findHead(c *Conn) (size int, err error) {
	x.head = http1.Head{}
	for searched := 0; ; {
		if size, err = http1.HeadSize(x.in, searched); err == http1.ErrLineEnd {
			line, _, _ := bytes.Cut(x.in, []byte("\n"))
			_ = x.head.StatusLine(bytes.TrimSuffix(line, []byte("\r"))) // it may be valid nevertheless
		}
		if size > 0 || err != nil {
			return size, err
		}
		searched = len(x.in)
		x.in = slices.Grow(x.in, 1)
		n, err := c.Read(x.in[searched:cap(x.in)])
		if x.in = x.in[:searched+n]; n == 0 && err != nil {
			return 0, err
		}
	}
}

// headError returns why a head cannot be read. If the response is not HTTP, the error quotes its
// first line.
func (x *Exchange) headError(c *Conn, err error) error {
	if c.failed || err == http1.ErrHead {
		return err
	}
	return fmt.Errorf("the answer is not HTTP/1: it begins with %s", http1.Quoted(x.in))
}

// skipBody reads the body, and reports whether the connection can be used again.
func (x *Exchange) skipBody(c *Conn, toHEAD bool) bool {
	in, room, total := x.in, x.in[:cap(x.in)], 0
	for x.body.Begin(&x.head, toHEAD); toHEAD || x.head.Length <= maxBody; {
		for len(in) > 0 && !x.body.Over() {
			part, rest, err := x.body.Next(in)
			if total += len(part); err != nil || total > maxBody {
				return false
			}
			in = rest
		}
		if x.body.Over() {
			return len(in) == 0 && !x.head.Closes && x.head.Status != 101 && !c.failed
		}
		n, err := c.Read(room)
		if in = room[:n]; n == 0 && err != nil {
			return false
		}
	}
	return false
}

// retryAfter parses the Retry-After header of a response with status 429 or 503: seconds, or an
// HTTP date. The result is 0 for other responses, and if the header requests no wait or is invalid.
func retryAfter(status int, value []byte, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := string(bytes.TrimSpace(value))
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}
