package data

import (
	"errors"
	"fmt"

	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
)

// Failed is a reason why nothing was changed.
type Failed struct {
	Conflict bool          // what the request read has changed: answer it again
	Else     int           // the index of the change whose else response is to be sent; -1 for none
	Failure  reply.Failure // otherwise, the error to send and its message
	Message  string
}

// refuse returns a Failed with an error to send.
func refuse(f reply.Failure, format string, args ...any) *Failed {
	return &Failed{Else: -1, Failure: f, Message: fmt.Sprintf(format, args...)}
}

// ofCommit translates the error of a commit; it returns nil if there is no error.
func ofCommit(err error) *Failed {
	if err == nil {
		return nil
	}
	if full, ok := errors.AsType[*state.FullError](err); ok {
		return refuse(reply.StateFull, "the set %q has no room for more changes", full.Set)
	}
	return &Failed{Conflict: true, Else: -1}
}
