package fetcher

import (
	"errors"
	"io/fs"
)

// Kind says which answer an error calls for.
type Kind uint8

// The kinds of errors.
const (
	NotFound    Kind = iota + 1 // 404: a rendered path names no file, or one outside its directory; or a rendered URL climbs
	Unavailable                 // 500: a file that should be there cannot be read or is broken
	Upstream                    // 502: a remote cannot be reached or answered badly
	Timeout                     // 504: a remote took too long
)

// Error is why a body cannot be had.
type Error struct {
	Kind    Kind
	Message string // names the file as declared, or the URL without credentials, and the cause
	Err     error  // the cause, which may name absolute directories; nil when there is none
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrTooLarge is the cause when a body, a file or a workbook is over its limit.
var ErrTooLarge = errors.New("too large")

// causeOf is what went wrong with a file, without its absolute path.
func causeOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it does not exist"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
