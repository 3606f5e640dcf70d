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
	errTooLarge      = errors.New("the answer is larger than --max-response, and its fault or webhook needs all of it")
	errNoPlace       = fmt.Errorf("%w: no connection was free in time", ErrTimeout)
)

// The ways in which an answer can be malformed. A malformed answer is refused: an answer that
// another reader might interpret differently is not passed on.
var (
	errHead      = errors.New("the head of the answer is larger than 128 KiB")
	errInterim   = errors.New("more than 16 interim answers")
	errSwitch    = errors.New("the answer switches the protocol, which was not requested")
	errLineEnd   = errors.New("a line of the answer does not end in CRLF")
	errChunkEnd  = errors.New("a chunk of the answer does not end where its size says")
	errTrailer   = errors.New("a trailer of the answer is malformed")
	errTrailers  = errors.New("the trailers of the answer are larger than 16 KiB")
	errLongChunk = errors.New("the size line of a chunk is longer than 4 KiB")
)
