package serve

import (
	"bytes"
	"context"
	"encoding/json"
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
	ours "mockserver/listener/observe/sentry"
)

// host is a Sentry host that keeps the events that it receives.
type host struct {
	mu     sync.Mutex // guards the fields below
	events []sentry.Event
	raw    bytes.Buffer
}

// listening starts the host, and returns its DSN.
func (h *host) listening(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		parts := bytes.SplitN(body, []byte("\n"), 3) // two heads and the event
		var e sentry.Event
		if err := json.Unmarshal(parts[len(parts)-1], &e); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.raw.Write(body)
		h.events = append(h.events, e)
	}))
	t.Cleanup(server.Close)
	return "http://key@" + server.Listener.Addr().String() + "/1"
}

// reporting makes a server report to h and listen. It returns the URL, and a function that stops the
// server once its reports are sent.
func reporting(t *testing.T, h *host, s *testServer, version string) (url string, stop func()) {
	t.Helper()
	s.Reports = ours.Open(h.listening(t), version, s.Log)
	end := s.listen(t)
	return "http://" + s.address, func() {
		http.DefaultClient.CloseIdleConnections()
		end()
		s.Reports.Close(context.Background())
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
	s := configured(t, `[{endpoint: {path: "/users/:id", response: {body: ok}}}]`)
	url, stop := reporting(t, h, s, "1.2.3")
	broken := *s.snapshot.Load().Snapshot
	broken.Responses = slices.Clone(broken.Responses)
	broken.Responses[0].Source = &fetcher.Source{} // it has no loader: asking it for a body panics
	s.snapshot.Store(&world{Snapshot: &broken})
	for range 3 {
		ask(t, url+"/users/hunter2secret?q=hunter2secret", 500)
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
		if strings.Contains(f.Function, "finish") || strings.Contains(f.Function, "logPanic") {
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
	s := newServer(t, compile.Options{Log: log}).serving(t, config.Parse("m.yml", []byte("[{endpoint: {path: /, response: {body: ok}}}]")))
	s.AccessLog = true
	url, stop := reporting(t, h, s, "")
	ask(t, url+"/", 500)
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
	s := configured(t, "[]")
	url, stop := reporting(t, h, s, "")
	s.snapshot.Store(&world{Snapshot: &compile.Snapshot{}}) // no table: the first stage panics
	ask(t, url+"/", 500)
	stop()
	if len(h.events) != 1 || h.events[0].Tags["code"] != "internal" {
		t.Fatalf("got %+v", h.events)
	}
	if endpoint, ok := h.events[0].Tags["endpoint"]; ok {
		t.Errorf("got endpoint %q", endpoint)
	}
}
