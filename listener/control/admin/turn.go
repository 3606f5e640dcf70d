package admin

import (
	"bytes"
	"net/http"
)

// inTurn wraps a handler so that one response is made at a time. A response about thousands of
// endpoints or requests occupies a CPU for a tenth of a second, and the mocks need the other CPUs.
// The response is sent after its turn, so that a slow client does not delay others.
func (a *Admin) inTurn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		made := held{ResponseWriter: w, status: http.StatusOK}
		if !a.takeTurn(r, func() { next(&made, r) }) {
			return
		}
		w.WriteHeader(made.status)
		_, _ = w.Write(made.body.Bytes()) // an error means that the client has left
	}
}

// takeTurn waits for its turn, does the work, and returns true. It returns false without doing the
// work if the client has left.
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

// held is a response whose status and body have not been sent yet.
type held struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

// WriteHeader stores the status.
func (h *held) WriteHeader(status int) { h.status = status }

// Write appends a part of the body.
func (h *held) Write(part []byte) (int, error) { return h.body.Write(part) }
