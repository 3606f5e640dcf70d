package listener

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getsentry/sentry-go"

	"mockserver/config"
	"mockserver/fetcher"
	"mockserver/listener/compile"
	"mockserver/listener/serve"
)

// host is a Sentry host that keeps the events that it receives.
type host struct {
	mu     sync.Mutex // guards the fields below
	events []sentry.Event
	raw    bytes.Buffer
}

// take reads one envelope: a line of JSON, then items, each a line of JSON and a payload of the
// length that the line gives.
func (h *host) take(body []byte) error {
	_, rest, _ := bytes.Cut(body, []byte("\n"))
	line, rest, _ := bytes.Cut(rest, []byte("\n"))
	var item struct {
		Type   string
		Length int
	}
	if err := json.Unmarshal(line, &item); err != nil {
		return err
	}
	if item.Type != "event" || item.Length > len(rest) || strings.TrimSpace(string(rest[item.Length:])) != "" {
		return fmt.Errorf("not a single event: %s", body)
	}
	var e sentry.Event
	if err := json.Unmarshal(rest[:item.Length], &e); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.raw.Write(body)
	h.events = append(h.events, e)
	return nil
}

// RoundTrip passes requests to the host itself, for tests without sockets.
func (h *host) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := h.take(body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{}, Request: req}, nil
}

// listening starts a server that passes requests to h, and returns its DSN.
func (h *host) listening(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		resp, err := h.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		w.WriteHeader(resp.StatusCode)
	}))
	t.Cleanup(server.Close)
	return "http://key@" + server.Listener.Addr().String() + "/1"
}

// reporting starts a server that reports to h, and returns it with a function that stops it.
func reporting(t *testing.T, h *host, configuration string, opts Options) (*Server, func()) {
	t.Helper()
	opts.SentryDSN = h.listening(t)
	s, err := Start(config.Parse("mock.yml", []byte(configuration)), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		t.Helper()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func ask(t *testing.T, url string, want int) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		t.Errorf("%s: got %d, want %d", url, resp.StatusCode, want)
	}
}

func TestReport_PanicHasItsStack(t *testing.T) {
	h := &host{}
	s, stop := reporting(t, h, `[{endpoint: {path: "/users/:id", response: {body: ok}}}]`, Options{Version: "1.2.3"})
	broken := *s.calls.Snapshot.Load().Snapshot
	broken.Responses = slices.Clone(broken.Responses)
	broken.Responses[0].Source = &fetcher.Source{} // it has no loader: asking it for a body panics
	s.calls.Snapshot.Store(&serve.World{Snapshot: &broken})
	for range 3 {
		ask(t, s.URL()+"/users/hunter2secret?q=hunter2secret", 500)
	}
	stop()
	if len(h.events) != 1 {
		t.Fatalf("%d events, want 1", len(h.events))
	}
	e := h.events[0]
	if e.Level != "fatal" || e.Platform != "go" || e.Release != "mockserver@1.2.3" || e.Tags["code"] != "internal" || e.Tags["endpoint"] != "GET /users/:id" {
		t.Errorf("got level %s, platform %s, release %s, tags %v", e.Level, e.Platform, e.Release, e.Tags)
	}
	if got := e.Exception[0]; got.Type != "panic" || got.Value != "runtime error: invalid memory address or nil pointer dereference" {
		t.Errorf("got %s: %s", got.Type, got.Value)
	}
	frames := e.Exception[0].Stacktrace.Frames
	inner := frames[len(frames)-1]
	if inner.Module != "mockserver/fetcher" || inner.Filename != "mockserver/fetcher/look.go" || inner.Lineno == 0 || !inner.InApp {
		t.Errorf("the innermost frame is %+v", inner)
	}
	served := slices.ContainsFunc(frames, func(f sentry.Frame) bool {
		return f.Module == "mockserver/listener/serve" && strings.HasPrefix(f.Function, "(*Server).serve")
	})
	for _, f := range frames {
		if ours := strings.HasPrefix(f.Module, "mockserver"); f.InApp != ours || f.AbsPath != "" || f.Module == "runtime" {
			t.Errorf("frame %+v", f)
		}
		if strings.Contains(f.Function, "finish") || strings.Contains(f.Function, "tellPanic") {
			t.Errorf("frame %+v is what recovered", f)
		}
	}
	if !served {
		t.Error("no frame of Server.serve")
	}
	if strings.Contains(h.raw.String(), "hunter2secret") {
		t.Errorf("the request is in the report: %s", &h.raw)
	}
}

// panicOnce is a log that panics at its first line about a request, with a text that must stay
// secret.
type panicOnce struct {
	slog.Handler
	once *sync.Once
}

func (p panicOnce) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "request" {
		p.once.Do(func() { panic("hunter2secret") })
	}
	return p.Handler.Handle(ctx, r)
}

func TestReport_TextOfAPanicStaysInTheLog(t *testing.T) {
	h := &host{}
	var logged bytes.Buffer
	log := slog.New(panicOnce{slog.NewTextHandler(&logged, nil), new(sync.Once)})
	s, stop := reporting(t, h, "[{endpoint: {path: /, response: {body: ok}}}]", Options{Logger: log, AccessLog: true})
	ask(t, s.URL()+"/", 500)
	stop()
	if len(h.events) != 1 || h.events[0].Exception[0].Value != "a panic with a value of type string, see the server's log" {
		t.Errorf("got %+v", h.events)
	}
	if strings.Contains(h.raw.String(), "hunter2secret") {
		t.Errorf("reported: %s", &h.raw)
	}
	if !strings.Contains(logged.String(), "hunter2secret") {
		t.Errorf("not logged: %s", &logged)
	}
}

// Before the endpoint is known, the report names none.
func TestReport_PanicOfMatching(t *testing.T) {
	h := &host{}
	s, stop := reporting(t, h, "[]", Options{})
	s.calls.Snapshot.Store(&serve.World{Snapshot: &compile.Snapshot{}}) // no table: the first stage panics
	ask(t, s.URL()+"/", 500)
	stop()
	if len(h.events) != 1 || h.events[0].Tags["code"] != "internal" {
		t.Fatalf("got %+v", h.events)
	}
	if endpoint, ok := h.events[0].Tags["endpoint"]; ok {
		t.Errorf("got endpoint %q", endpoint)
	}
}

func TestReport_NothingWithoutADSN(t *testing.T) {
	for _, dsn := range []string{"", " \n"} {
		var logged bytes.Buffer
		s, err := Start(config.Parse("m.yml", []byte("[]")), Options{SentryDSN: dsn, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if s.calls.Reports != nil || logged.Len() > 0 {
			t.Errorf("%q: errors are reported, or the log says that they are: %s", dsn, &logged)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// logged is a log that tests read while it is being written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}
