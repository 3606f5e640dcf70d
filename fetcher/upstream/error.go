package upstream

import (
	"errors"
	"fmt"
)

// Why there is no answer to pass on. Others are those of connecting, reading and parsing.
var (
	ErrLeft    = errors.New("the client left")
	ErrLoop    = errors.New("the request has passed through this server before: its upstream leads back to it")
	ErrUpgrade = errors.New("an Upgrade is not passed on")
	// ErrTimeout is wrapped by the errors of requests that took too long.
	ErrTimeout = errors.New("time-out")

	errTarget        = errors.New("the path to ask for is not one: it has to begin with /, and to be printable ASCII without blanks and #")
	errRequestHeader = errors.New("a header of the request holds a control character")
	errTooLarge      = errors.New("the answer is too large to be kept in memory, which its fault needs")
	errNoPlace       = fmt.Errorf("%w: no connection was free in time", ErrTimeout)
)

// How an answer is malformed. All of it is refused: what another reader might understand differently
// is not passed on.
var (
	errHead      = errors.New("the head of the answer is larger than 128 KiB")
	errInterim   = errors.New("more than 16 interim answers")
	errSwitch    = errors.New("the answer switches the protocol, which was not asked for")
	errLineEnd   = errors.New("a line of the answer does not end in CRLF")
	errStatus    = errors.New("the answer does not begin with a status line of HTTP/1")
	errName      = errors.New("a line of the answer's head does not begin with a name and a colon")
	errValue     = errors.New("a header of the answer holds a control character")
	errLengths   = errors.New("the answer has more than one Content-Length")
	errLength    = errors.New("the Content-Length of the answer is not a number of at most 18 digits")
	errFrames    = errors.New("the answer has both Content-Length and Transfer-Encoding")
	errCoding    = errors.New("the Transfer-Encoding of the answer is not chunked, once, in HTTP/1.1")
	errChunk     = errors.New("a chunk of the answer has no hexadecimal size of at most 15 digits")
	errChunkEnd  = errors.New("a chunk of the answer does not end where its size says")
	errTrailer   = errors.New("a trailer of the answer is malformed")
	errTrailers  = errors.New("the trailers of the answer are larger than 16 KiB")
	errLongChunk = errors.New("the size line of a chunk is longer than 4 KiB")
)
