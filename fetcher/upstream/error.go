package upstream

import (
	"errors"
	"fmt"
)

// Errors returned by Do, in addition to errors from connecting, reading and parsing.
var (
	ErrLeft    = errors.New("the client left")
	ErrLoop    = errors.New("the request has passed through this server before: its upstream leads back to it")
	ErrUpgrade = errors.New("a WebSocket is not passed on")
	// ErrTimeout is wrapped by the errors of requests that took too long.
	ErrTimeout = errors.New("timeout")

	errTarget        = errors.New("the path to request is invalid: it must begin with / and be printable ASCII without blanks and #")
	errRequestHeader = errors.New("a header of the request contains a control character")
	errTooLarge      = errors.New("the answer is too large to be kept in memory, as its fault requires")
	errNoPlace       = fmt.Errorf("%w: no connection was free in time", ErrTimeout)
)

// The ways in which an answer can be malformed. A malformed answer is refused: an answer that
// another reader might interpret differently is not passed on.
var (
	errHead      = errors.New("the head of the answer is larger than 128 KiB")
	errInterim   = errors.New("more than 16 interim answers")
	errSwitch    = errors.New("the answer switches the protocol, which was not requested")
	errLineEnd   = errors.New("a line of the answer does not end in CRLF")
	errStatus    = errors.New("the answer does not begin with a status line of HTTP/1")
	errName      = errors.New("a line of the answer's head does not begin with a name and a colon")
	errValue     = errors.New("a header of the answer contains a control character")
	errLengths   = errors.New("the answer has more than one Content-Length")
	errLength    = errors.New("the Content-Length of the answer is not a number of at most 18 digits")
	errFrames    = errors.New("the answer has both Content-Length and Transfer-Encoding")
	errCoding    = errors.New("the Transfer-Encoding of the answer is not valid; expected chunked, exactly once, in HTTP/1.1")
	errChunk     = errors.New("a chunk of the answer has no hexadecimal size of at most 15 digits")
	errChunkEnd  = errors.New("a chunk of the answer does not end where its size says")
	errTrailer   = errors.New("a trailer of the answer is malformed")
	errTrailers  = errors.New("the trailers of the answer are larger than 16 KiB")
	errLongChunk = errors.New("the size line of a chunk is longer than 4 KiB")
)
