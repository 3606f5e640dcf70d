package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
)

const (
	// headBuffer is the size of the buffer that responses are read into, in bytes. The buffer grows
	// for a longer head, up to maxHead.
	headBuffer = 4 << 10
	maxHead    = 256 << 10
	// maxBody is the maximum number of bytes of a body that are read and discarded so that the
	// connection can be reused.
	maxBody = 1 << 20
	// maxInterim limits the number of 1xx responses before the final one, and maxTrailer the number
	// of lines after a chunked body.
	maxInterim = 64
	maxTrailer = 64
	// grace is how long to wait for a response if the request could not be written completely. The
	// target may have responded before the write failed; if so, the response has already arrived.
	grace = 10 * time.Millisecond
	// maxQuoted is how much of a response that is not HTTP is quoted, in bytes. maxHeadError is the
	// maximum length of a fasthttp error that is passed on: some of these errors quote the whole
	// response.
	maxQuoted    = 60
	maxHeadError = 200
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

	in   *bufio.Reader // of size headBuffer, or larger for the current response
	head fasthttp.ResponseHeader
}

// NewExchange returns an exchange with an empty request.
func NewExchange() *Exchange {
	return &Exchange{in: bufio.NewReaderSize(nil, headBuffer)}
}

// Small reports whether the exchange is small enough to keep for further requests.
func (x *Exchange) Small() bool { return cap(x.Request) <= keptRequest && x.in.Size() == headBuffer }

var (
	errLongHead = fmt.Errorf("the head of the answer is longer than %d KiB", maxHead>>10)
	errInterim  = fmt.Errorf("more than %d interim answers", maxInterim)
	errStatus   = errors.New("the answer has no status")
)

// RoundTrip sends the request, followed by rest, over a connection, and returns the status of the
// response. The status is valid as soon as the head has arrived, even if the body is cut off.
// RoundTrip also reports whether the connection can be reused.
func (x *Exchange) RoundTrip(c *Conn, method string, rest []byte) (status int, reusable bool, err error) {
	broken := c.send(x.Request, rest)
	if broken != nil { // the target may have responded before it read everything
		_ = c.SetReadDeadline(time.Now().Add(grace)) // if this fails, so does reading, and broken is returned
	}
	x.in.Reset(c)
	defer x.in.Reset(nil)
	x.RetryAfter = 0
	status, whole, err := x.readHead(c)
	if whole {
		x.RetryAfter = retryAfter(status, x.head.Peek(fasthttp.HeaderRetryAfter), time.Now())
	}
	switch {
	case err != nil && broken != nil:
		return 0, false, broken
	case err != nil:
		return 0, false, err
	case broken != nil || !whole:
		return status, false, nil
	}
	reusable = x.skipBody(method) && !x.closes() && x.in.Buffered() == 0 && !c.failed
	return status, reusable, nil
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
		err := x.readOneHead(c)
		if err != nil && !c.failed && !errors.Is(err, errLongHead) {
			if status := x.statusLine(); status >= fasthttp.StatusOK {
				return status, false, nil
			}
		}
		if err != nil {
			return 0, false, x.headError(c, err)
		}
		switch status := x.head.StatusCode(); {
		case status < fasthttp.StatusContinue:
			return 0, false, errStatus
		case status >= fasthttp.StatusOK || status == fasthttp.StatusSwitchingProtocols:
			return status, true, nil
		}
	}
	return 0, false, errInterim
}

// headError returns why a head cannot be read. If the response is not HTTP, the error quotes its
// first line.
func (x *Exchange) headError(c *Conn, err error) error {
	if errors.Is(err, errLongHead) || c.failed && len(err.Error()) <= maxHeadError {
		return err
	}
	held, _ := x.in.Peek(x.in.Buffered())
	line, _, _ := bytes.Cut(bytes.TrimLeft(held, "\r\n"), []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	more := ""
	if len(line) > maxQuoted {
		line, more = line[:maxQuoted], "…"
	}
	return fmt.Errorf("the answer is not HTTP/1: it begins with %q%s", line, more)
}

// readOneHead reads a head. It enlarges the buffer if necessary.
func (x *Exchange) readOneHead(c *Conn) error {
	for {
		err := x.head.Read(x.in)
		if err == nil {
			return nil
		}
		if full := new(fasthttp.ErrSmallBuffer); !errors.As(err, &full) {
			return err
		}
		size := 4 * x.in.Size()
		if size > maxHead {
			return errLongHead
		}
		held, _ := x.in.Peek(x.in.Buffered()) // cannot fail
		x.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(held), c), size)
	}
}

// statusLine returns the status of a response if only its first line can be read; 0 if there is no
// status.
func (x *Exchange) statusLine() int {
	held, _ := x.in.Peek(x.in.Buffered())
	line, _, whole := bytes.Cut(held, []byte("\n"))
	var head http1.Head
	if !whole || head.StatusLine(bytes.TrimSuffix(line, []byte("\r"))) != nil {
		return 0
	}
	return head.Status
}

// closes reports whether the connection ends with this response: the target announces that it
// closes the connection, switches protocols, or answers in HTTP/1.0. In HTTP/1.0, fasthttp does not
// report a Transfer-Encoding, so the end of the body is not certain.
func (x *Exchange) closes() bool {
	if x.head.ConnectionClose() || !x.head.IsHTTP11() || x.head.StatusCode() == fasthttp.StatusSwitchingProtocols {
		return true
	}
	for option := range http1.Options(x.head.Peek(fasthttp.HeaderConnection)) {
		if ascii.EqualFold(option, "close") {
			return true
		}
	}
	return false
}

// skipBody reads the body and reports whether it reached the end. A response that cannot have a
// body may announce one; if the body followed anyway, it would be mistaken for the next response.
func (x *Exchange) skipBody(method string) bool {
	switch status, n := x.head.StatusCode(), x.head.ContentLength(); {
	case status == fasthttp.StatusSwitchingProtocols:
		return false
	case method == fasthttp.MethodHead:
		return true
	case status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified:
		return n <= 0 && n != -1
	case n >= 0:
		if n > maxBody {
			return false
		}
		_, err := x.in.Discard(n)
		return err == nil
	case n == -1: // chunked
		n, err := io.Copy(io.Discard, io.LimitReader(httputil.NewChunkedReader(x.in), maxBody+1))
		return err == nil && n <= maxBody && x.skipTrailer()
	default: // the body ends when the target closes the connection
		_, _ = io.Copy(io.Discard, io.LimitReader(x.in, maxBody)) // the connection is closed either way
		return false
	}
}

// skipTrailer reads the lines after the last chunk, up to an empty one.
func (x *Exchange) skipTrailer() bool {
	for range maxTrailer {
		line, err := x.in.ReadSlice('\n')
		if err != nil {
			return false
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return true
		}
	}
	return false
}
