package dispatcher

import (
	"bufio"
	"crypto/x509"
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
)

// counted counts the connections that are made to a server.
func counted(s *httptest.Server) *atomic.Int32 {
	n := new(atomic.Int32)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	return n
}

// trusting has a queue trust the certificate of a server.
func trusting(q *Queue, s *httptest.Server) {
	q.sender.conns.tls.RootCAs = x509.NewCertPool()
	q.sender.conns.tls.RootCAs.AddCert(s.Certificate())
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

// A target that closes connections that are idle takes no delivery with it, over
// TLS too, where it says so before.
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

// listened is a server on an address that not every machine has.
func listened(t *testing.T, address string, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("not here: %v", err)
	}
	s := httptest.NewUnstartedServer(answer)
	s.Listener.Close()
	s.Listener = l
	t.Cleanup(s.Close)
	return s
}

func TestConnections_IPv6(t *testing.T) {
	hosts := make(chan string, 1)
	answer := func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host + r.RequestURI }
	plain := listened(t, "[::1]:0", answer)
	plain.Start()
	secure := listened(t, "[::1]:0", answer)
	secure.StartTLS()
	q := opened(t, Options{})
	trusting(q, secure)
	urls := map[string]string{plain.URL: plain.Listener.Addr().String(), secure.URL: secure.Listener.Addr().String()}
	_, port, _ := strings.Cut(plain.URL, "]:")
	urls["http://[::1%25lo]:"+port] = "[::1]:" + port
	if l, err := net.Listen("tcp", "[::1]:80"); err == nil { // as root, if nobody has it
		l.Close()
		bare := listened(t, "[::1]:80", answer)
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

// However many targets there are, few connections are kept, and those that were
// used last.
func TestConnections_FewAreIdle(t *testing.T) {
	const most, targets = 8, 40
	q := opened(t, Options{Workers: most})
	var urls []string
	var made, gone atomic.Int32
	for range targets {
		urls = append(urls, scripted(t, func(_ int, c net.Conn) {
			made.Add(1)
			for in := bufio.NewReader(c); readRequest(in); {
				io.WriteString(c, okAnswer)
			}
			gone.Add(1)
		}))
	}
	sent := int64(0)
	send := func(url string) {
		sent++
		enqueue(q, NewDelivery(hook(url), 0, 1, Parts{}), time.Now())
		until(t, q, "delivered", func(s Stats) bool { return s.Delivered == sent })
	}
	for _, url := range urls {
		send(url)
	}
	conns := q.sender.conns
	conns.mu.Lock()
	if len(conns.open) != most || len(conns.idle) != most || conns.coming != 0 {
		t.Errorf("%d open, %d targets have some, %d are coming; want %d, as many, none", len(conns.open), len(conns.idle), conns.coming, most)
	}
	conns.mu.Unlock()
	for gone.Load() < targets-most { // the test's own time-out bounds this
		conns.isClosed()
	}
	for _, url := range urls[targets-most:] {
		send(url)
	}
	if made.Load() != targets {
		t.Errorf("%d connections, want %d: the last %d targets have theirs still", made.Load(), targets, most)
	}
	send(urls[0])
	if made.Load() != targets+1 {
		t.Errorf("%d connections, want one more: the first target had none", made.Load())
	}
}

// Those that are idle make room for those that are dialled, so that there are never
// more than workers.
func TestConnections_IdleOnesMakeRoom(t *testing.T) {
	const most = 4
	c, all := idled(t, most, "a", "b", "c", "d")
	refusing := "http://" + closedPort(t)
	if _, err := c.get(refusing, time.Now().Add(time.Minute)); err == nil {
		t.Fatal("it is reached")
	}
	if len(c.open) != most-1 || c.coming != 0 {
		t.Errorf("%d are open and %d coming, want %d and none: one made room", len(c.open), c.coming, most-1)
	}
	if err := all[0].SetDeadline(time.Now()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the oldest says %v, want that it is closed", err)
	}
	if _, err := c.get(refusing, time.Now().Add(time.Minute)); err == nil || len(c.open) != most-1 {
		t.Errorf("%d are open after one that failed, want %d still: there was room", len(c.open), most-1)
	}
	target := newRawTarget(t, nil)
	defer target.end()
	var used []*connection
	for i := range most {
		conn, err := c.get(target.url(), time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if used = append(used, conn); len(c.open) != most {
			t.Errorf("%d are open with %d in use, want %d", len(c.open), i+1, most)
		}
	}
	if c.oldest != nil {
		t.Error("one is idle while all that may be are in use")
	}
	for _, conn := range used {
		c.put(conn)
	}
	if len(c.open) != most {
		t.Errorf("%d are open, want %d", len(c.open), most)
	}
	c.close() // the target ends with its connections
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// idled is connections that are idle, with pipes for targets.
func idled(t *testing.T, most int, targets ...string) (*connections, []*connection) {
	t.Helper()
	c := newConnections(most)
	t.Cleanup(c.close)
	var all []*connection
	for _, target := range targets {
		one, other := net.Pipe()
		t.Cleanup(func() { other.Close() })
		conn := &connection{Conn: one, plain: one, target: target, pulse: newPulse(one)}
		c.reserve()
		if err := c.enter(conn); err != nil {
			t.Fatal(err)
		}
		c.put(conn)
		all = append(all, conn)
	}
	return c, all
}

// The lists of idle connections hold whatever is taken out of them, and in
// whatever order.
func TestConnections_Lists(t *testing.T) {
	c, all := idled(t, 5, "a", "b", "a", "c", "a", "b", "d")
	order := func() string { // the oldest first, then the newest of each target
		var s strings.Builder
		n := 0
		for at := c.oldest; at != nil; at = at.newer {
			s.WriteString(at.target)
			n++
		}
		for at := c.newest; at != nil; at = at.older {
			n--
		}
		if n != 0 || len(c.open) < s.Len() {
			t.Errorf("%d of %s are linked one way only; %d open", n, s.String(), len(c.open))
		}
		for _, target := range []string{"a", "b", "c", "d"} {
			depth := 0
			for at := c.idle[target]; at != nil; at = at.below {
				if depth++; at.target != target {
					t.Errorf("%s among those of %s", at.target, target)
				}
			}
			fmt.Fprintf(&s, " %d", depth)
		}
		return s.String()
	}
	for _, step := range []struct {
		take string
		conn *connection
		want string
	}{
		{"", nil, "acabd 2 1 1 1"}, // two went for being too many
		{"a", all[4], "acbd 1 1 1 1"},
		{"d", all[6], "acb 1 1 1 0"},
		{"d", nil, "acb 1 1 1 0"},
		{"a", all[2], "cb 0 1 1 0"},
		{"b", all[5], "c 0 0 1 0"},
		{"c", all[3], " 0 0 0 0"},
	} {
		if step.take != "" {
			if got := c.pop(step.take); got != step.conn {
				t.Errorf("taking %s: another connection", step.take)
			}
		}
		if got := order(); got != step.want {
			t.Errorf("after taking %q: %s, want %s", step.take, got, step.want)
		}
	}
	c.put(all[2])
	c.put(all[5])
	all[2].since = time.Now().Add(-2 * idleTime)
	c.closeOld()
	if got := order(); got != "b 0 1 0 0" {
		t.Errorf("after closing the old: %s", got)
	}
}
