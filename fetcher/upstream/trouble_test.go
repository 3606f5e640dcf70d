package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/matcher"
)

// patron is a waiter whose client disconnects when the test says so.
type patron struct {
	woken chan struct{}
	gone  chan struct{}
	waits chan struct{} // gets a value when it waits
}

func newPatron() *patron {
	return &patron{make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)}
}

func (c *patron) Wait() bool {
	select {
	case c.waits <- struct{}{}:
	default:
	}
	select {
	case <-c.woken:
		return false
	case <-c.gone:
		return true
	}
}

func (c *patron) Wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// waiting starts a server whose handlers wait until they are released.
func waiting(t *testing.T) (url string, arrived chan string, release chan struct{}) {
	arrived, release = make(chan string, 100), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "the beginning")
			w.(http.Flusher).Flush()
		}
		arrived <- r.URL.Path
		select {
		case <-release:
		case <-r.Context().Done():
			arrived <- "gone " + r.URL.Path
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, arrived, release
}

func TestDo_ClientLeaves(t *testing.T) {
	for _, path := range []string{"/silent", "/begun"} {
		url, arrived, release := waiting(t)
		u := made(t, url, "")
		c := newPatron()
		done := make(chan error, 1)
		go func() {
			r := request("GET "+path, "", "")
			defer matcher.Release(r)
			_, _, err := whole(u, &Request{Request: r, Waiter: c})
			done <- err
		}()
		if got := <-arrived; got != path {
			t.Fatal(got)
		}
		close(c.gone)
		if err := <-done; !errors.Is(err, ErrLeft) {
			t.Errorf("%s: got %v", path, err)
		}
		if got := <-arrived; got != "gone "+path { // the upstream notices that the client has left
			t.Error(got)
		}
		if _, _, err := u.places.Enter(nil, time.Time{}, time.Time{}); u.UnderWay.Load() != 0 || err != nil {
			t.Errorf("%s: the connection slot is still in use", path)
		}
		close(release)
	}
}

// Further requests wait for a place in order of arrival; requests whose client disconnects, or that
// wait too long, do not get one.
func TestDo_PlacesInOrder(t *testing.T) {
	url, arrived, release := waiting(t)
	u := made(t, url, ", connections: 1, timeout: 20")
	done := make(chan error, 10)
	start := func(path string, c *patron) {
		go func() {
			r := request("GET "+path, "", "")
			defer matcher.Release(r)
			_, _, err := whole(u, &Request{Request: r, Waiter: c})
			done <- err
		}()
	}
	start("/1", newPatron())
	if got := <-arrived; got != "/1" {
		t.Fatal(got)
	}
	leaver := newPatron()
	for i, c := range []*patron{newPatron(), leaver, newPatron()} {
		start(fmt.Sprint("/", i+2), c)
		<-c.waits // it is in the queue
	}
	close(leaver.gone)
	if err := <-done; !errors.Is(err, ErrLeft) {
		t.Errorf("got %v", err)
	}
	for _, next := range []string{"/2", "/4"} {
		release <- struct{}{}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := <-arrived; got != next {
			t.Errorf("got %s, want %s", got, next)
		}
	}
	r := request("GET /late", "", "")
	defer matcher.Release(r)
	short := *made(t, url, ", connections: 1, timeout: 50ms")
	if _, _, err := short.places.Enter(nil, time.Time{}, time.Time{}); err != nil {
		t.Fatal("there is no free connection slot")
	}
	x := NewExchange()
	if err := short.Do(x, &Request{Request: r, Waiter: newPatron()}); !errors.Is(err, ErrTimeout) || x.Waited == 0 {
		t.Errorf("got %v after %v", err, x.Waited)
	}
	release <- struct{}{}
	<-done
}

func TestDo_Timeout(t *testing.T) {
	url, _, release := waiting(t)
	defer close(release)
	for _, w := range []Waiter{nil, newPatron()} {
		r := request("GET /", "", "")
		if _, _, err := whole(made(t, url, ", timeout: 80ms"), &Request{Request: r, Waiter: w}); !errors.Is(err, ErrTimeout) {
			t.Errorf("got %v", err)
		}
		matcher.Release(r)
	}
	slow, _ := scripted(t, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nab", "")
	r := request("GET /", "", "")
	defer matcher.Release(r)
	if _, body, err := whole(made(t, slow, ", timeout: 20"), &Request{Request: r}); err == nil || body != "ab" {
		t.Errorf("got %q, %v", body, err)
	}
	refused := made(t, "http://127.0.0.1:1", "")
	if _, _, err := whole(refused, &Request{Request: r}); err == nil || errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// A request with a safe method is tried once more if an idle connection is closed before any byte
// of the answer has arrived. A connection that was closed before the request is not used, whatever
// the method.
func TestDo_KeptConnections(t *testing.T) {
	for _, c := range []struct {
		method string
		ended  bool // closed before the second request
		fails  bool
	}{
		{"GET", false, false}, {"HEAD", false, false}, {"OPTIONS", false, false}, {"POST", false, true}, {"PUT", false, true}, {"DELETE", false, true},
		{"GET", true, false}, {"POST", true, false},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var connections atomic.Int64
		closed, requests := make(chan struct{}), make(chan string, 4)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				n := connections.Add(1)
				go func() {
					defer conn.Close()
					b := make([]byte, 4096)
					size, err := conn.Read(b)
					if err != nil {
						return
					}
					requests <- string(b[:size])
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					switch {
					case n == 1 && c.ended:
						_ = conn.Close()
						close(closed)
					case n == 1: // the second request is read, and not answered
						_, _ = conn.Read(b)
					}
				}()
			}
		}()
		u := made(t, "http://"+l.Addr().String(), "")
		var errs []error
		for range 2 {
			r := request(c.method+" /", "", "body")
			_, _, err := whole(u, &Request{Request: r})
			errs = append(errs, err)
			matcher.Release(r)
			if c.ended {
				<-closed
			}
		}
		if errs[0] != nil || (errs[1] != nil) != c.fails {
			t.Errorf("%s, ended %v: %v", c.method, c.ended, errs)
		}
		if first := <-requests; !c.fails {
			if second := <-requests; second != first || strings.Count(second, "body") != 1 {
				t.Errorf("%s, ended %v: asked %q, and then %q", c.method, c.ended, first, second)
			}
		}
		_ = l.Close()
	}
}

// An upstream may answer before it has read a large body, and then close the connection.
func TestDo_EarlyResponses(t *testing.T) {
	url, _ := scripted(t, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
	r := request("POST /", "", strings.Repeat("b", 8<<20))
	defer matcher.Release(r)
	if status, body, err := whole(made(t, url, ""), &Request{Request: r}); err == nil && (status != 413 || body != "big") {
		t.Errorf("%d %q", status, body)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, r.Body)
		_ = n
	}))
	defer s.Close()
	u := made(t, s.URL, "")
	if status, body, err := whole(u, &Request{Request: r}); err != nil || status != 200 || len(body) != 8<<20 {
		t.Errorf("%d, %d bytes, %v", status, len(body), err)
	}
}

// A short exchange makes at most as many allocations as a request by net/http. Both numbers include
// the allocations of the server, which runs in this process.
func TestDo_Allocations(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer s.Close()
	u := made(t, s.URL, "")
	r := request("GET /", "Accept: */*\r\nUser-Agent: a\r\n", "")
	defer matcher.Release(r)
	var room [512]byte
	var begun time.Time
	once := func() {
		begun = time.Now()
		x := NewExchange()
		if err := u.Do(x, &Request{Request: r, Room: room[:0]}); err != nil || string(x.Body) != "hello" || x.First.Before(begun) {
			t.Fatal(err, x.Body)
		}
		x.Free()
	}
	once()
	from := allocationsOf(t, func() { // allocations of net/http's client and of the server
		c, err := http.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, c.Body)
		_ = c.Body.Close()
	})
	if own := allocationsOf(t, once); own > from {
		t.Errorf("%v allocations, net/http makes %v", own, from)
	}
}

func allocationsOf(t *testing.T, f func()) float64 {
	t.Helper()
	return testing.AllocsPerRun(50, f)
}
