package upstream

import (
	"errors"
	"fmt"

	"mockserver/internal/places"
)

// Errors returned by Do, in addition to errors from connecting, reading and parsing.
var (
	ErrLeft    = places.ErrLeft
	ErrLoop    = errors.New("the request has passed through this server before: its upstream leads back to it")
	ErrUpgrade = errors.New("a WebSocket is not passed on")
	// ErrTimeout is wrapped by the errors of requests that took too long.
	ErrTimeout = errors.New("timeout")

	errTarget        = errors.New("the path to request is invalid: it must begin with / and be printable ASCII without blanks and #")
	errRequestHeader = errors.New("a header of the request contains a control character")
	errTooLarge      = errors.New("the answer is larger than --max-response, and its fault or webhook needs all of it")
	errNoPlace       = fmt.Errorf("%w: no connection was free in time", ErrTimeout)
)

// Why an answer is refused, in addition to the errors of http1.
var (
	errInterim = errors.New("more than 16 interim answers")
	errSwitch  = errors.New("the answer switches the protocol, which was not requested")
)
