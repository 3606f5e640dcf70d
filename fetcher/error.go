package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"

	"mockserver/internal/files"
)

// Kind determines the response to an error.
type Kind uint8

// The kinds of errors.
const (
	NotFound    Kind = iota + 1 // 404: a rendered path or sheet name matches nothing, or a path or URL leaves its directory
	Unavailable                 // 500: a file that should exist cannot be read or is invalid
	Upstream                    // 502: a remote server cannot be reached, or its response is invalid
	Timeout                     // 504: a remote server took too long
)

// Error is the reason why a body is not available.
type Error struct {
	Kind    Kind
	Message string // names the file as declared, or the URL without credentials, and the cause
	Err     error  // the cause, which may name absolute directories; nil when there is none
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrTooLarge is the cause if a body, a file or a workbook exceeds its limit.
var ErrTooLarge = errors.New("too large")

// statusError is the cause if a remote server answered with a status of 400 or more.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("it answered with status %d", int(e)) }

// Panic is the cause if a decoder panicked, which is a bug in the program.
type Panic struct {
	Value any       // the value of the panic, which may contain parts of the input
	Stack []uintptr // program counters from the recovering function outwards, as from runtime.Callers
}

// Error says that the content cannot be decoded, with the message of the panic.
func (p *Panic) Error() string { return fmt.Sprintf("it cannot be decoded: %v", p.Value) }

// Cause describes the error in words that contain nothing from a request, a remote server or the
// environment, so that they may appear in an error report: "connection refused". It is "" if there
// are no such words.
func (e *Error) Cause() string {
	for _, known := range []struct {
		is   error
		text string
	}{
		{ErrTooLarge, ErrTooLarge.Error()},
		{errNoSheet, errNoSheet.Error()},
		{errQueued, errQueued.Error()},
		{context.Canceled, "the server is stopping"},
		{fs.ErrNotExist, "it does not exist"},
		{io.EOF, "it ended early"},
		{io.ErrUnexpectedEOF, "it ended early"},
	} {
		if errors.Is(e.Err, known.is) {
			return known.text
		}
	}
	var status statusError
	var panicked *Panic
	var timeout net.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var errno syscall.Errno
	switch {
	case errors.As(e.Err, &status):
		return status.Error()
	case errors.As(e.Err, &panicked):
		return "its decoder panicked"
	case errors.As(e.Err, &timeout) && timeout.Timeout():
		return "no complete answer in time"
	case errors.As(e.Err, &name):
		return "the name of its host cannot be resolved"
	case errors.As(e.Err, &certificate):
		return "its certificate is not trusted"
	case errors.As(e.Err, &errno):
		return errno.Error()
	}
	return ""
}

// causeOf returns what went wrong with a file, without its absolute path.
func causeOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "it does not exist"
	}
	return files.Bare(err).Error()
}

// errNoSheet is the cause if a workbook does not have the sheet.
var errNoSheet = errors.New("no such sheet")

// errQueued is the cause if a fetch timed out because too many others were running.
var errQueued = errors.New("still queued")
