package client

import "errors"

// ErrStale is returned by Ask if the target has closed the connection while it was idle, or has
// sent data on it. No request was sent.
var ErrStale = errors.New("the connection is no longer open")

// SendError is returned by Ask if the request could not be sent completely. The target may still
// have answered.
type SendError struct{ Err error }

// Error returns the text of Err, which is an error from the connection.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *SendError) Unwrap() error { return e.Err }
