package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Held is a server whose answers a test holds back.
type Held struct {
	URL     string
	Arrived chan struct{} // receives a value for each request
	Release func()        // lets all requests be answered
}

// NewHeld starts a Held server, which ends with the test.
func NewHeld(t *testing.T) *Held {
	t.Helper()
	open := make(chan struct{})
	u := &Held{Arrived: make(chan struct{}, 16), Release: sync.OnceFunc(func() { close(open) })}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		u.Arrived <- struct{}{}
		<-open
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"held": true}`) // the server may be gone
	}))
	u.URL = server.URL
	t.Cleanup(func() {
		u.Release()
		server.Close()
	})
	return u
}
