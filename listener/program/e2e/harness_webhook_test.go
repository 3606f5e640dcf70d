package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// Received is a webhook as received by its target.
type Received struct {
	Method, Host, URI, Body string
	Header                  http.Header
	At                      time.Time
}

// HookTarget is a server that webhooks are sent to. It answers each webhook by calling answer, or
// with 200 if answer is nil, and sends the webhook to Got.
type HookTarget struct {
	*httptest.Server
	Got      chan Received
	response func(n int, w http.ResponseWriter, r *http.Request)
	count    atomic.Int32
}

// NewHookTarget starts a webhook target, which is stopped at the end of the test.
func NewHookTarget(t *testing.T, response func(n int, w http.ResponseWriter, r *http.Request)) *HookTarget {
	t.Helper()
	target := &HookTarget{Got: make(chan Received, 100_000), response: response}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // the test notices if a part is missing
		target.Got <- Received{r.Method, r.Host, r.RequestURI, string(b), r.Header, time.Now()}
		if target.response != nil {
			target.response(int(target.count.Add(1)), w, r)
		}
	}))
	t.Cleanup(target.Close)
	return target
}

// Next waits for the next webhook.
func (h *HookTarget) Next(t *testing.T) Received {
	t.Helper()
	select {
	case r := <-h.Got:
		return r
	case <-time.After(harness.Patience):
		t.Fatal("no webhook arrives")
		return Received{}
	}
}

// NothingMore stops the program, which sends the webhooks that fall due before it exits, and fails
// the test if an unexpected webhook was received.
func (h *HookTarget) NothingMore(t *testing.T, p *Process) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	p.Exit()
	h.NothingLeft(t)
}

// NothingLeft is like NothingMore, for a program that has exited.
func (h *HookTarget) NothingLeft(t *testing.T) {
	t.Helper()
	for {
		select {
		case r := <-h.Got:
			t.Errorf("an unexpected webhook: %s %s %s", r.Method, r.URI, r.Body)
		default:
			return
		}
	}
}

// WithHook returns an endpoint with one webhook that has the given keys.
func WithHook(path, url, keys string) string {
	return fmt.Sprintf(`- endpoint:
    method: POST
    path: %s
    response: {status: 201, body: {ok: true}}
    webhook: {url: "%s", method: POST, sleep-time: 0%s}
`, path, url, keys)
}
