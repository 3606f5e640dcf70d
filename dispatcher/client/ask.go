package client

import "errors"

// ErrStale is the error of Ask for a connection that the target has closed while it was idle, or on
// which it has sent something. No request was sent.
var ErrStale = errors.New("the connection is no longer open")

// SendError is the error of Ask if the request could not be sent completely. The target may still
// have answered.
type SendError struct{ Err error }

// Error returns the error of the connection.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the connection.
func (e *SendError) Unwrap() error { return e.Err }
