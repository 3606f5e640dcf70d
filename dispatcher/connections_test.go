package dispatcher

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counted counts the connections to a server.
func counted(s *httptest.Server) *atomic.Int32 {
	n := new(atomic.Int32)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	return n
}

// trusting makes a queue trust the certificate of a server.
func trusting(q *Queue, s *httptest.Server) {
	q.sender.pool.TLS.RootCAs = x509.NewCertPool()
	q.sender.pool.TLS.RootCAs.AddCert(s.Certificate())
}

func TestConnections_AreUsedAgainOverTLS(t *testing.T) {
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "thanks") }))
	made := counted(target)
	target.StartTLS()
	defer target.Close()
	q := opened(t, Options{})
	trusting(q, target)
	for i := range int64(20) {
		enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
		until(t, q, "delivered", func(s Stats) bool { return s.Delivered == i+1 })
	}
	if n := made.Load(); n != 1 {
		t.Errorf("%d connections for 20 deliveries one after another, want 1", n)
	}
}

// No delivery is lost if a target closes idle connections, including over TLS, where the target
// announces that it closes the connection.
func TestConnections_IdleTimeoutOverTLS(t *testing.T) {
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	closed := make(chan struct{}, 1)
	target.Config.IdleTimeout = 5 * time.Millisecond
	target.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	target.StartTLS()
	defer target.Close()
	q := opened(t, Options{})
	trusting(q, target)
	for i := range int64(10) {
		enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
		until(t, q, "finished", func(s Stats) bool { return s.Delivered+s.Dead == i+1 })
		<-closed
	}
	if s := q.Stats(); s.Dead != 0 {
		t.Errorf("%d of 10 were lost", s.Dead)
	}
}

func TestConnections_UntrustedTLS(t *testing.T) {
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	target.Config.ErrorLog = nil
	target.StartTLS()
	defer target.Close()
	var failed failures
	q := opened(t, Options{Failed: failed.add})
	enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
	until(t, q, "finished", func(s Stats) bool { return s.Dead == 1 })
	if !strings.Contains(failed.String(), "TLS: ") || !strings.Contains(failed.String(), "certificate") {
		t.Errorf("got %v", &failed)
	}
}

// listened starts a server on an address that some machines do not have.
func listened(t *testing.T, address string, response http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("not possible on this machine: %v", err)
	}
	s := httptest.NewUnstartedServer(response)
	s.Listener.Close()
	s.Listener = l
	t.Cleanup(s.Close)
	return s
}

func TestConnections_IPv6(t *testing.T) {
	hosts := make(chan string, 1)
	response := func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host + r.RequestURI }
	plain := listened(t, "[::1]:0", response)
	plain.Start()
	secure := listened(t, "[::1]:0", response)
	secure.StartTLS()
	q := opened(t, Options{})
	trusting(q, secure)
	urls := map[string]string{plain.URL: plain.Listener.Addr().String(), secure.URL: secure.Listener.Addr().String()}
	_, port, _ := strings.Cut(plain.URL, "]:")
	urls["http://[::1%25lo]:"+port] = "[::1]:" + port
	if l, err := net.Listen("tcp", "[::1]:80"); err == nil { // as root, if the port is free
		l.Close()
		bare := listened(t, "[::1]:80", response)
		bare.Start()
		urls["http://[::1]"] = "[::1]"
	}
	for url, host := range urls {
		var failed failures
		q.failed = failed.add
		enqueue(q, NewDelivery(hook(url+"/a"), 0, 1, Parts{}), time.Now())
		until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 })
		select {
		case got := <-hosts:
			if got != host+"/a" {
				t.Errorf("%s: got %s, want %s/a", url, got, host)
			}
		default:
			t.Errorf("%s: not delivered: %v", url, &failed)
		}
	}
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
