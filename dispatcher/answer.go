package dispatcher

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// answerRoom is the room to read an answer in, in bytes. It grows with the head, up
	// to maxAnswerHead.
	answerRoom    = 4 << 10
	maxAnswerHead = 256 << 10
	// maxAnswerBody is how much of a body is read, so that the connection can be used
	// again; nothing is made of it.
	maxAnswerBody = 1 << 20
	// maxInterim bounds the answers of 1xx before the final one, and maxTrailer the
	// lines behind a body in chunks.
	maxInterim = 64
	maxTrailer = 64
	// grace is how long an answer is waited for that may have come before its request
	// was written. If there is one it is there already.
	grace = 10 * time.Millisecond
	// maxQuoted is how much of an answer that is none is quoted, in bytes, and
	// maxHeadError the length of an error of fasthttp's that is passed on: some quote
	// the whole answer.
	maxQuoted    = 60
	maxHeadError = 200
	// keptRequest is the largest room for a request that is kept.
	keptRequest = 64 << 10
)

// exchange is the room that a request is written from and its answer read in.
type exchange struct {
	request []byte
	in      *bufio.Reader // of answerRoom, or larger for this answer
	head    fasthttp.ResponseHeader
	// retryAfter is how long the answer asks to be left alone; 0 when it does not.
	retryAfter time.Duration
}

func newExchange() *exchange {
	return &exchange{in: bufio.NewReaderSize(nil, answerRoom)}
}

// small tells whether the room is worth keeping.
func (x *exchange) small() bool { return cap(x.request) <= keptRequest && x.in.Size() == answerRoom }

var (
	errLongHead = fmt.Errorf("the head of the answer is longer than %d KiB", maxAnswerHead>>10)
	errInterim  = fmt.Errorf("more than %d interim answers", maxInterim)
	errStatus   = errors.New("the answer has no status")
)

// over sends the request, and body behind it, over a connection, and returns the
// status of the answer. As soon as its head is there it has been answered, whatever
// becomes of the rest; again tells whether the connection can be used again.
func (x *exchange) over(c *connection, method string, body []byte) (status int, again bool, err error) {
	broken := c.send(x.request, body)
	if broken != nil { // perhaps for a target that had its answer ready before it read everything
		_ = c.SetReadDeadline(time.Now().Add(grace)) // else nothing is read, and the first error stands
	}
	x.in.Reset(c)
	defer x.in.Reset(nil)
	x.retryAfter = 0
	status, sound, err := x.readHead(c)
	if sound {
		x.retryAfter = retryAfter(status, x.head.Peek(fasthttp.HeaderRetryAfter), time.Now())
	}
	switch {
	case err != nil && broken != nil:
		return 0, false, broken
	case err != nil:
		return 0, false, err
	case broken != nil || !sound:
		return status, false, nil
	}
	again = x.skipBody(method) && !x.closes() && x.in.Buffered() == 0 && !c.failed
	return status, again, nil
}

// send writes.
func (c *connection) send(request, body []byte) error {
	if len(body) == 0 {
		_, err := c.Write(request)
		return err
	}
	both := net.Buffers{request, body}
	_, err := both.WriteTo(c.Conn)
	return err
}

// readHead reads the head of the final answer. One that is not sound tells its
// status and nothing else.
func (x *exchange) readHead(c *connection) (status int, sound bool, err error) {
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

// headError says why a head cannot be read. Of one that is none it quotes the first
// line alone.
func (x *exchange) headError(c *connection, err error) error {
	if errors.Is(err, errLongHead) || c.failed && len(err.Error()) <= maxHeadError {
		return err
	}
	held, _ := x.in.Peek(x.in.Buffered())
	line, _, _ := bytes.Cut(bytes.TrimLeft(held, "\r\n"), []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxQuoted {
		return fmt.Errorf("the head of the answer is no HTTP/1: it begins with %q…", line[:maxQuoted])
	}
	return fmt.Errorf("the head of the answer is no HTTP/1: it begins with %q", line)
}

// readOneHead reads a head, in more room when it needs more.
func (x *exchange) readOneHead(c *connection) error {
	for {
		err := x.head.Read(x.in)
		if err == nil {
			return nil
		}
		if full := new(fasthttp.ErrSmallBuffer); !errors.As(err, &full) {
			return err
		}
		size := 4 * x.in.Size()
		if size > maxAnswerHead {
			return errLongHead
		}
		held, _ := x.in.Peek(x.in.Buffered()) // of what is there, which never fails
		x.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(held), c), size)
	}
}

// statusLine returns the status of an answer whose head cannot be read but for its
// first line; 0 for none.
func (x *exchange) statusLine() int {
	held, _ := x.in.Peek(x.in.Buffered())
	line, _, whole := bytes.Cut(held, []byte("\n"))
	rest, http1 := bytes.CutPrefix(line, []byte("HTTP/1."))
	if !whole || !http1 || len(rest) < len("1 200") || rest[1] != ' ' {
		return 0
	}
	digits, after := rest[2:5], bytes.TrimSuffix(rest[5:], []byte("\r"))
	if len(after) > 0 && after[0] != ' ' {
		return 0
	}
	status, err := strconv.ParseUint(string(digits), 10, 16)
	if err != nil {
		return 0
	}
	return int(status)
}

// closes tells whether the target closes the connection behind its answer, makes
// something else of it, or leaves open where the answer ends: fasthttp does not tell
// of an answer of HTTP/1.0 whether it has a Transfer-Encoding, which means nothing
// there.
func (x *exchange) closes() bool {
	if x.head.ConnectionClose() || !x.head.IsHTTP11() || x.head.StatusCode() == fasthttp.StatusSwitchingProtocols {
		return true
	}
	for token := range bytes.SplitSeq(x.head.Peek(fasthttp.HeaderConnection), []byte(",")) {
		if bytes.EqualFold(bytes.TrimSpace(token), []byte("close")) {
			return true
		}
	}
	return false
}

// skipBody reads the body and tells whether it came to its end. Where there can be
// none but one is announced, it may follow all the same, and be taken for the next
// answer.
func (x *exchange) skipBody(method string) bool {
	switch status, n := x.head.StatusCode(), x.head.ContentLength(); {
	case status == fasthttp.StatusSwitchingProtocols:
		return false
	case method == fasthttp.MethodHead:
		return true
	case status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified:
		return n <= 0 && n != -1
	case n >= 0:
		if n > maxAnswerBody {
			return false
		}
		_, err := x.in.Discard(n)
		return err == nil
	case n == -1: // in chunks
		n, err := io.Copy(io.Discard, io.LimitReader(httputil.NewChunkedReader(x.in), maxAnswerBody+1))
		return err == nil && n <= maxAnswerBody && x.skipTrailer()
	default: // until the target closes
		_, _ = io.Copy(io.Discard, io.LimitReader(x.in, maxAnswerBody)) // it is closed either way
		return false
	}
}

// skipTrailer reads what is behind the last chunk: lines, the last of them empty.
func (x *exchange) skipTrailer() bool {
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
