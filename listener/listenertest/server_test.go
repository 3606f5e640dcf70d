package listenertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/observe/record"
)

func TestMain(m *testing.M) {
	// fasthttp updates the Date of its answers in a goroutine that never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"), goleak.IgnoreCurrent())
}

// pretended is a test that another test observes.
type pretended struct {
	testing.TB
	failed   []string
	logged   []string
	output   bytes.Buffer
	cleanups []func()
}

func (p *pretended) Helper()           {}
func (p *pretended) Output() io.Writer { return &p.output }
func (p *pretended) Cleanup(f func())  { p.cleanups = append(p.cleanups, f) }
func (p *pretended) Logf(format string, args ...any) {
	p.logged = append(p.logged, fmt.Sprintf(format, args...))
}
func (p *pretended) Errorf(format string, args ...any) {
	p.failed = append(p.failed, fmt.Sprintf(format, args...))
}

func (p *pretended) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a test function until it returns or fails.
func (p *pretended) run(test func(t testing.TB)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(p)
	}()
	<-ended
}

// end ends the test as package testing does.
func (p *pretended) end() {
	for len(p.cleanups) > 0 {
		last := len(p.cleanups) - 1
		f := p.cleanups[last]
		p.cleanups = p.cleanups[:last]
		f()
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

const hello = "- endpoint: {path: '/hello/:name', response: {body: 'hello {{path-params.name}}'}}"

func TestFromText_ServesUntilTheTestEnds(t *testing.T) {
	var server *listener.Server
	t.Run("a test", func(t *testing.T) {
		server = FromText(t, hello)
		t.Run("a subtest at the same time", func(t *testing.T) {
			t.Parallel()
			if got := get(t, server.URL()+"/hello/ann"); got != "hello ann" {
				t.Errorf("got %q", got)
			}
		})
	})
	if conn, err := net.Dial("tcp", server.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			_ = conn.Close() // the dial should have failed
		}
		t.Errorf("after the test: got %v, want a refused connection", err)
	}
	select {
	case <-server.Done():
	default:
		t.Error("the server has not stopped")
	}
}

func TestStart_FailsTheTestWithAllProblems(t *testing.T) {
	p := &pretended{}
	returned := false
	p.run(func(t testing.TB) {
		Start(t, config.New(
			config.Endpoint{Path: "/a", Response: config.Response{Status: 1}},
			config.Endpoint{Path: "/b", Response: config.Response{Body: "{{nope}}"}},
		), listener.Options{})
		returned = true
	})
	p.end()
	if returned || len(p.failed) != 1 {
		t.Fatalf("the test went on: %v; it failed with %q", returned, p.failed)
	}
	for _, want := range []string{"[0].endpoint.response.status: GET /a: is a number (1)", "[1].endpoint.response.body: GET /b: ", "nope"} {
		if !strings.Contains(p.failed[0], want) {
			t.Errorf("got %q, want it to contain %q", p.failed[0], want)
		}
	}
}

func TestStart_LogsToTheTestWhileItRuns(t *testing.T) {
	p := &pretended{}
	var server *listener.Server
	p.run(func(t testing.TB) {
		server = Start(t, config.Parse("m.yml", []byte(hello)), listener.Options{AccessLog: true})
	})
	get(t, server.URL()+"/hello/ann")
	get(t, server.URL()+"/nowhere")
	p.end()
	for _, want := range []string{"/hello/ann", "unmatched request"} {
		if !strings.Contains(p.output.String(), want) {
			t.Errorf("got %q, want it to contain %q", p.output.String(), want)
		}
	}
	if len(p.failed) > 0 || len(p.logged) > 0 {
		t.Errorf("got failures %q and logs %q", p.failed, p.logged)
	}
}

// Verification needs no admin address. It passes if the count is the expected one. If the count
// differs or cannot be known, the test fails with the reason.
func TestVerify_FailsUnlessTheCountIsKnownAndExpected(t *testing.T) {
	recorded := FromText(t, hello)
	get(t, recorded.URL()+"/hello/ann")
	get(t, recorded.URL()+"/hello/bob?x=1")
	Verify(t, recorded, "path-params.name = ann", 1)
	Verify(t, recorded, "", 2)
	Verify(t, recorded, "method = POST", 0)
	posted := FromText(t, hello)
	if resp, err := http.Post(posted.URL()+"/orders", "application/json", strings.NewReader(`{"amount": 50}`)); err == nil {
		_ = resp.Body.Close()
	}
	sampled := Start(t, config.Parse("m.yml", []byte(hello)), listener.Options{Record: &record.Options{}})
	get(t, sampled.URL()+"/hello/ann")
	unrecorded, err := listener.Start(config.Parse("m.yml", []byte(hello)), listener.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer unrecorded.Close()
	for _, c := range []struct {
		server    *listener.Server
		condition string
		want      int
		said      []string
	}{
		{recorded, "path = /helo/ann", 1, []string{"matches 0 requests, expected 1", "2 requests arrived", "\tGET /hello/ann: 200", "\tGET /hello/bob?x=1: 200"}},
		{recorded, "path = /hello/ann", 0, []string{"matches 1 request, expected 0", "the nearest first:\n\tGET /hello/ann: 200\n\tGET /hello/bob?x=1: 200\n\t\tdoes not hold: path = /hello/ann"}},
		{recorded, `method = GET and path = "/hello/bob" and query-params.x = 2`, 1, []string{
			"the nearest first:\n\tGET /hello/bob?x=1: 200\n\t\tdoes not hold: query-params.x = 2\n" +
				"\tGET /hello/ann: 200\n\t\tdoes not hold: path = \"/hello/bob\"\n\t\tdoes not hold: query-params.x = 2",
		}},
		{recorded, `method = POST or path = "/a and b"`, 1, []string{"\n\t\tdoes not hold: method = POST or path = \"/a and b\""}},
		{posted, "method = POST and json-params.amount > 100", 1, []string{"\tPOST /orders: 404\n\t\tdoes not hold: json-params.amount > 100\n\t\tbody: {\"amount\": 50}"}},
		{recorded, "pathh = /hello/ann", 0, []string{"cannot verify", "pathh", "is not a variable"}},
		{recorded, "path =", 0, []string{"cannot verify"}},
		{sampled, "path = /hello/ann", 1, []string{"cannot verify", "may have been more"}},
		{sampled, "path = /nowhere", 0, []string{"cannot verify", "may have been more"}},
		{unrecorded, "path = /hello/ann", 0, []string{"cannot verify", "Options.Record"}},
		{FromText(t, hello), "", 1, []string{"no request arrived"}},
	} {
		p := &pretended{}
		p.run(func(t testing.TB) { Verify(t, c.server, c.condition, c.want) })
		if len(p.failed) != 1 {
			t.Errorf("%s, %d: failed with %q, want one failure", c.condition, c.want, p.failed)
			continue
		}
		for _, part := range c.said {
			if !strings.Contains(p.failed[0], part) {
				t.Errorf("%s, %d: got %q, want it to contain %q", c.condition, c.want, p.failed[0], part)
			}
		}
	}
}

func TestOutput_TakesNothingOnceTheTestHasEnded(t *testing.T) {
	var b bytes.Buffer
	o := &output{w: &b}
	for range 2 {
		if n, err := o.Write([]byte("a line\n")); n != 7 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		o.end()
	}
	if b.String() != "a line\n" {
		t.Errorf("got %q, want only the line before the end", b.String())
	}
}

// A failed test may leave a request that would never end.
func TestStart_EndsThoughARequestIsInFlight(t *testing.T) {
	reached, let := make(chan struct{}), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		select {
		case <-r.Context().Done():
		case <-let:
		}
	}))
	defer remote.Close()
	defer close(let)
	p := &pretended{}
	var server *listener.Server
	p.run(func(t testing.TB) {
		server = start(t, config.New(config.Endpoint{
			Path:     "/x",
			Response: config.Response{External: &config.ExternalBody{Provider: "json", Path: remote.URL}},
		}), listener.Options{}, 0)
	})
	done := make(chan error, 1)
	go func() {
		resp, err := http.Get(server.URL() + "/x")
		if err == nil {
			_ = resp.Body.Close() // the request should have failed
		}
		done <- err
	}()
	<-reached
	p.end()
	if err := <-done; err == nil {
		t.Error("the request was answered")
	}
	if want := "the mock server is stopped: 1 request was cut off: " + context.DeadlineExceeded.Error(); len(p.failed) > 0 || len(p.logged) != 1 || p.logged[0] != want {
		t.Errorf("got failures %q and logs %q, want %q", p.failed, p.logged, want)
	}
}

// A test that shares a mock with others adds endpoints, and the next one begins anew.
func TestServer_AddAndReset(t *testing.T) {
	base := config.Join(config.New(
		config.Endpoint{Path: "/turns", Responses: []config.Outcome{{Response: config.Response{Body: "first"}}, {Response: config.Response{Body: "then"}}}, Select: config.SelectSequenceHold},
		config.Endpoint{Path: "/once", RateLimit: &config.RateLimit{Max: 1}, Response: config.Response{Body: "ok"}},
		config.Endpoint{Path: "/hook", Webhooks: []config.Webhook{{URL: "http://127.0.0.1:9/", Delay: time.Hour}}},
	), config.Parse("rows.yml", []byte(`
- data: {name: notes, rows: [{id: "1", text: old}]}
- endpoint: {path: /change, do: [{merge: {in: notes, key: "1", with: {text: new}}}], response: {}}
- endpoint: {path: /note, find: {n: {in: notes, key: "1"}}, response: {body: "{{n.text}}"}}
`)))
	mock := Start(t, base, listener.Options{})
	all := func() string {
		return strings.Join([]string{get(t, mock.URL()+"/turns"), get(t, mock.URL()+"/once"), get(t, mock.URL()+"/note")}, " ")
	}
	if got := all(); got != "first ok old" {
		t.Fatalf("got %s", got)
	}
	get(t, mock.URL()+"/hook")
	get(t, mock.URL()+"/change")
	if err := mock.Add(config.Endpoint{Path: "/turns", Response: config.Response{Body: "added"}}, config.Endpoint{Path: "/more"}); err != nil {
		t.Fatal(err)
	}
	if got := all(); !strings.HasPrefix(got, "added ") || !strings.HasSuffix(got, " new") || strings.Contains(got, " ok ") {
		t.Errorf("with an endpoint added: %s", got)
	}
	if err := mock.Add(config.Endpoint{Path: "nowhere"}); err == nil || !strings.Contains(err.Error(), `"nowhere" does not begin with /`) {
		t.Errorf("got %v", err)
	}
	if _, pending := mock.PendingWebhooks(1); pending != 1 {
		t.Errorf("%d webhooks are pending", pending)
	}
	if err := mock.Reset(config.New(config.Endpoint{})); err == nil || len(mock.Spec().Endpoints) != 7 {
		t.Errorf("an invalid specification: %v, %d endpoints", err, len(mock.Spec().Endpoints))
	}
	if err := mock.Reset(base); err != nil {
		t.Fatal(err)
	}
	if _, pending := mock.PendingWebhooks(1); pending != 0 || len(mock.Journal()) != 0 || mock.Counts().Endpoints[0].Requests != 0 {
		t.Errorf("after a reset: %d webhooks, %d requests", pending, len(mock.Journal()))
	}
	if got := all(); got != "first ok old" {
		t.Errorf("after a reset: %s", got)
	}
	if got := get(t, mock.URL()+"/more"); strings.Contains(got, "added") {
		t.Errorf("after a reset: %s", got)
	}
}
