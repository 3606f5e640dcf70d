package harness

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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

// HoldOpen opens n connections, and sends a text and nothing more over each. release resets the
// connections, so that their ports are free again immediately.
func (p *Process) HoldOpen(n int, text string) (release func()) {
	p.T.Helper()
	var held []net.Conn
	release = func() {
		for _, c := range held {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close() // the server may have closed it before
		}
	}
	for i := range n {
		if i%1000 == 0 { // once it is answered, all connections before it are accepted: the system drops some if the queue gets longer
			p.Wire("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		}
		c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			release()
			p.T.Fatalf("after %d connections: %v", len(held), err)
		}
		held = append(held, c)
		if _, err := io.WriteString(c, text); err != nil {
			release()
			p.T.Fatal(err)
		}
	}
	return release
}
