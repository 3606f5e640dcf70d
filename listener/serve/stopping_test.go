package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mockserver/internal/harness"
	"mockserver/listener/observe/sentry"
	"mockserver/listener/protocol/wire"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// unheard is a listener for tests that adopt their connections themselves.
type unheard struct{ net.Listener }

func (unheard) Close() error { return nil }

func stopping() *wire.Connections { return wire.New(unheard{}, slog.New(slog.DiscardHandler)) }

// end does what Shutdown does first.
func end(t *testing.T, l *wire.Connections, lastCall time.Duration) {
	t.Helper()
	if err := l.End(lastCall); err != nil {
		t.Fatal(err)
	}
	l.ExpireIdle()
}

// around calls a function with what serves each request.
type around struct {
	wire.Handler
	pass func(serve func())
}

func (p around) Serve(x *wire.Exchange) (err error) {
	p.pass(func() { err = p.Handler.Serve(x) })
	return err
}

// Whenever the shutdown begins while pipelined requests are served, the answers that were sent
// arrive, and the last one says that no more follow.
func TestExpireIdle_LosesNoReplyToPipelinedRequests(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const requests = 4
	most := 0
	for n := 1; n <= requests+3; n++ { // the requests are read once, answered one after the other, written once, and then there is another read
		for _, before := range []bool{true, false} {
			if n == requests+3 && !before {
				continue // nothing more is read
			}
			synctest.Test(t, func(t *testing.T) { most = max(most, pipelinedUntil(t, s, requests, n, before)) })
		}
	}
	if most < requests {
		t.Errorf("at most %d of %d requests were answered", most, requests)
	}
}

// pipelinedUntil sends requests at once to a server that begins to stop at the n-th event. It returns
// how many answers arrive.
func pipelinedUntil(t *testing.T, s *testServer, requests, n int, before bool) int {
	s.Stopping.Store(false)
	replied := 0
	client, inner := net.Pipe()
	l := generally(s, stopping())
	point := &pointed{Conn: inner, N: n, Before: before, Happened: func() {
		s.Stopping.Store(true)
		end(t, l, time.Second)
	}}
	l.Handler = around{s.Server, func(serve func()) {
		replied++
		point.pass(serve)
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
	_ = client.Close() // ends a write
	got := strings.Count(string(text), `{"hello": "world"}`)
	if got != replied {
		t.Errorf("at call %d, before %v: %d requests were answered, %d answers arrived", n, before, replied, got)
	}
	if says := strings.Count(string(text), "Connection: close"); got < requests && says != min(got, 1) {
		t.Errorf("at call %d, before %v: %d of %d answers arrived, %d with Connection: close", n, before, got, requests, says)
	}
	return got
}

// defective is a connection that panics when it is read from.
type defective struct{ net.Conn }

func (defective) Read([]byte) (int, error) { panic("hunter2") }

func TestServeConnection_APanicHarmsNoOther(t *testing.T) {
	var log harness.Log
	h := &host{}
	s := configured(t, timed)
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.Reports = sentry.Open(h.listening(t), "", s.Log)
	_, bad := net.Pipe()
	_, worse := net.Pipe()
	client, good := net.Pipe()
	l := handling(s, stopping())
	var serving sync.WaitGroup
	for _, conn := range []net.Conn{defective{bad}, defective{worse}, good} {
		serving.Go(func() { s.ServeConnection(l.Adopt(conn)) })
	}
	if _, err := io.WriteString(client, "GET /static HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(client); err != nil || !strings.HasSuffix(string(b), `{"hello": "world"}`) {
		t.Errorf("another connection: got %q, %v", b, err)
	}
	serving.Wait()
	for _, conn := range []net.Conn{bad, worse} {
		if _, err := conn.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want it closed", err)
		}
	}
	if open := l.Count(); open > 0 {
		t.Errorf("%d connections are still registered", open)
	}
	s.Reports.Close(context.Background())
	text := log.String()
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
