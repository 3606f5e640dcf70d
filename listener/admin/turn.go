package admin

import (
	"bytes"
	"net/http"
)

// inTurn is a handler that makes its answers one at a time: those about thousands of
// endpoints or kept requests take a CPU for a tenth of a second, and mocks are to have
// the others. Sending them is no part of it, so that no slow client holds up another.
func (a *Admin) inTurn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		made := held{ResponseWriter: w, status: http.StatusOK}
		if !a.takeTurn(r, func() { next(&made, r) }) {
			return
		}
		w.WriteHeader(made.status)
		_, _ = w.Write(made.body.Bytes()) // a client that has left misses nothing
	}
}

// takeTurn waits until nobody else has the turn and does the work. It tells whether it
// did: not when the client has left meanwhile.
func (a *Admin) takeTurn(r *http.Request, work func()) bool {
	select {
	case a.turn <- struct{}{}:
	case <-r.Context().Done():
		return false
	}
	defer func() { <-a.turn }()
	work()
	return true
}

// held is an answer that is not sent yet, but for its headers, which go with it.
type held struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

// WriteHeader keeps the status.
func (h *held) WriteHeader(status int) { h.status = status }

// Write keeps a part of the body.
func (h *held) Write(part []byte) (int, error) { return h.body.Write(part) }
