package listener

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/listener/observe/sentry"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/serve"
)

// stopping returns a listener for tests that adopt their connections themselves.
func stopping() *wire.Connections {
	return wire.New(&queue{closed: make(chan struct{})}, slog.New(slog.DiscardHandler))
}

// end does what Shutdown does first.
func end(t *testing.T, l *wire.Connections, lastCall time.Duration) {
	t.Helper()
	if err := l.End(lastCall); err != nil {
		t.Fatal(err)
	}
	l.ExpireIdle()
}

// pointed is a connection that calls a function at the n-th event: a read, a write, or another
// call of pass.
type pointed struct {
	net.Conn
	n        int
	before   bool // call the function before the event instead of after it
	happened func()
}

func (p *pointed) pass(do func()) {
	p.n--
	now := p.n == 0
	if now && p.before {
		p.happened()
	}
	do()
	if now && !p.before {
		p.happened()
	}
}

func (p *pointed) Read(b []byte) (n int, err error) {
	p.pass(func() { n, err = p.Conn.Read(b) })
	return n, err
}

func (p *pointed) Write(b []byte) (n int, err error) {
	p.pass(func() { n, err = p.Conn.Write(b) })
	return n, err
}

// passing calls a function with what serves each request.
type passing struct {
	wire.Handler
	pass func(serve func())
}

func (p passing) Serve(x *wire.Exchange) (err error) {
	p.pass(func() { err = p.Handler.Serve(x) })
	return err
}

// Whenever the shutdown begins while pipelined requests are served, the answers that were sent
// arrive, and the last one says that no more follow.
func TestExpireIdle_LosesNoReplyToPipelinedRequests(t *testing.T) {
	t.Parallel()
	s := configured(t, timed)
	warm(t, s)
	const requests = 4
	replied := 0
	var point *pointed
	handler := passing{s.calls, func(serve func()) {
		replied++
		point.pass(serve)
	}}
	most := 0
	for n := 1; n <= requests+3; n++ { // the requests are read once, answered one after the other, written once, and then there is another read
		for _, before := range []bool{true, false} {
			if n == requests+3 && !before {
				continue // nothing more is read
			}
			s.calls.Stopping.Store(false)
			replied = 0
			client, inner := net.Pipe()
			l := generally(s, stopping())
			l.Handler = handler
			point = &pointed{inner, n, before, func() {
				s.calls.Stopping.Store(true)
				end(t, l, time.Second)
			}}
			conn := l.Adopt(point)
			served := make(chan error, 1)
			go func() { served <- serveOne(s, conn) }()
			go func() {
				_, _ = io.WriteString(client, strings.Repeat("GET /static HTTP/1.1\r\nHost: a\r\n\r\n", requests)) // requests that are not written get no answer
			}()
			text, err := io.ReadAll(client)
			if err != nil {
				t.Fatal(err)
			}
			<-served
			got := strings.Count(string(text), `{"hello": "world"}`)
			if got != replied {
				t.Errorf("at call %d, before %v: %d requests were answered, %d answers arrived", n, before, replied, got)
			}
			if says := strings.Count(string(text), "Connection: close"); got < requests && says != min(got, 1) {
				t.Errorf("at call %d, before %v: %d of %d answers arrived, %d with Connection: close", n, before, got, requests, says)
			}
			most = max(most, got)
		}
	}
	if most < requests {
		t.Errorf("at most %d of %d requests were answered", most, requests)
	}
}

// The accept loop may be serving a connection that is not registered yet: cutOff waits for it,
// but not for long.
func TestCutOff_WaitsForWhatAccepts(t *testing.T) {
	for _, takes := range []time.Duration{0, lastWord / 2, lastWord * 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &Server{drained: make(chan struct{}), calls: new(serve.Server)}
			time.AfterFunc(takes, func() { close(s.drained) })
			begun := time.Now()
			if n := s.cutOff(nil); n != 0 {
				t.Errorf("got %d requests", n)
			}
			if took, want := time.Since(begun), min(takes, lastWord); took != want {
				t.Errorf("accepting ends after %v: the wait was %v, want %v", takes, took, want)
			}
			<-s.drained // the goroutines of a bubble must end
		})
	}
}

// defective is a connection that panics when it is read from.
type defective struct{ net.Conn }

func (defective) Read([]byte) (int, error) { panic("hunter2") }

func TestAccept_APanicOfAConnectionHarmsNoOther(t *testing.T) {
	var log logged
	h := &host{}
	s := configured(t, timed)
	s.calls.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.calls.Reports = sentry.Open(h.listening(t), "", s.log)
	_, bad := net.Pipe()
	_, worse := net.Pipe()
	client, good := net.Pipe()
	q := &queue{next: []any{defective{bad}, defective{worse}, good, syscall.EINVAL}, closed: make(chan struct{})}
	s.listener = handling(s, wire.New(q, s.log))
	accepting := make(chan struct{})
	go func() {
		s.accept()
		close(accepting)
	}()
	if _, err := io.WriteString(client, "GET /static HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(client); err != nil || !strings.HasSuffix(string(b), `{"hello": "world"}`) {
		t.Errorf("another connection: got %q, %v", b, err)
	}
	<-accepting
	for _, conn := range []net.Conn{bad, worse} {
		if _, err := conn.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want it closed", err)
		}
	}
	if open := s.listener.Count(); open > 0 {
		t.Errorf("%d connections are still registered", open)
	}
	s.calls.Reports.Close(context.Background())
	text := log.buf.String()
	if strings.Count(text, "panic while serving a connection") != 1 || !strings.Contains(text, "hunter2") || !strings.Contains(text, "defective.Read") {
		t.Errorf("the log does not have exactly one line with the text and the stack:\n%s", text)
	}
	if len(h.events) != 1 || h.events[0].Tags["code"] != "internal" || strings.Contains(h.raw.String(), "hunter2") {
		t.Fatalf("reported: %s", &h.raw)
	}
	frames := h.events[0].Exception[0].Stacktrace.Frames
	if inner := frames[len(frames)-1]; inner.Function != "defective.Read" {
		t.Errorf("the innermost frame is %+v", inner)
	}
}

func TestAccept_ThatFailsEndsTheServer(t *testing.T) {
	s := configured(t, "[]")
	s.listener = wire.New(&queue{next: []any{syscall.EINVAL}, closed: make(chan struct{})}, s.log)
	if err := errors.Join(s.openWebhooks(), s.Err()); err != nil {
		t.Fatal(err)
	}
	s.accept()
	<-s.Done()
	if err := s.Err(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want the reason why it cannot accept", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Err(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("after closing: got %v, want the same", err)
	}
}

// elsewhere is a listener that reports another address.
type elsewhere struct {
	net.Listener
	addr net.Addr
}

func (e elsewhere) Addr() net.Addr { return e.addr }

func TestURL(t *testing.T) {
	for _, c := range []struct {
		addr       net.TCPAddr
		want, host string // host is the host that a client extracts from it
	}{
		{net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}, "http://127.0.0.1:8000", "127.0.0.1"},
		{net.TCPAddr{IP: net.IPv6unspecified, Port: 8000}, "http://127.0.0.1:8000", "127.0.0.1"},
		{net.TCPAddr{IP: net.ParseIP("::1"), Port: 8000}, "http://[::1]:8000", "::1"},
		{net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 8000, Zone: "eth0"}, "http://[fe80::1%25eth0]:8000", "fe80::1%eth0"},
		{net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 8000, Zone: "eth 0"}, "http://[fe80::1%25eth%200]:8000", "fe80::1%eth 0"},
	} {
		s := &Server{listener: wire.New(elsewhere{addr: &c.addr}, nil)}
		got := s.URL()
		u, err := url.Parse(got)
		if got != c.want || err != nil || u.Hostname() != c.host {
			t.Errorf("%v: got %s, which is %v, %v, want %s and %s", &c.addr, got, u, err, c.want, c.host)
		}
	}
}
