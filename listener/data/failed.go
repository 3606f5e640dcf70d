package data

import (
	"errors"
	"fmt"

	"mockserver/listener/reply"
	"mockserver/listener/state"
)

// Failed says why nothing was changed.
type Failed struct {
	Conflict bool          // what the request saw has changed; answer it again
	Else     int           // the index of the change whose else response to send; -1 for none
	Failure  reply.Failure // otherwise the error to send, and its message
	Message  string
}

// refuse returns an error to send.
func refuse(f reply.Failure, format string, args ...any) *Failed {
	return &Failed{Else: -1, Failure: f, Message: fmt.Sprintf(format, args...)}
}

// ofCommit returns what the error of a commit means; nil for no error.
func ofCommit(err error) *Failed {
	if err == nil {
		return nil
	}
	if full, ok := errors.AsType[*state.FullError](err); ok {
		return refuse(reply.StateFull, "the set %q has no room for more changes", full.Set)
	}
	return &Failed{Conflict: true, Else: -1}
}
