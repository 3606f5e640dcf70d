package harness

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Received is one webhook as its target got it.
type Received struct {
	Method, Host, URI, Body string
	Header                  http.Header
	At                      time.Time
}

// HookTarget is a server that webhooks are sent to. Each is answered by what answer
// says, 200 when it is nil, and left in got.
type HookTarget struct {
	*httptest.Server
	Got    chan Received
	answer func(n int, w http.ResponseWriter, r *http.Request)
	count  atomic.Int32
}

// NewHookTarget starts a target of webhooks, which stops with the test.
func NewHookTarget(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *HookTarget {
	t.Helper()
	target := &HookTarget{Got: make(chan Received, 100_000), answer: answer}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // what is missing of it is seen by the test
		target.Got <- Received{r.Method, r.Host, r.RequestURI, string(b), r.Header, time.Now()}
		if target.answer != nil {
			target.answer(int(target.count.Add(1)), w, r)
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
	case <-time.After(Patience):
		t.Fatal("no webhook arrives")
		return Received{}
	}
}

// NothingMore stops the program, which sends what falls due before it ends, and
// fails the test if a webhook has come that was not asked for.
func (h *HookTarget) NothingMore(t *testing.T, p *Process) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	p.Exit()
	h.NothingLeft(t)
}

// NothingLeft is nothingMore for a program that has ended.
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

// WithHook is an endpoint with one webhook, of the given keys.
func WithHook(path, url, keys string) string {
	return fmt.Sprintf(`- endpoint:
    method: POST
    path: %s
    response: {status: 201, body: {ok: true}}
    webhook: {url: "%s", method: POST, sleep-time: 0%s}
`, path, url, keys)
}

// Mute is an address that takes connections and says nothing.
func Mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it is the end of the test either way
	return "http://" + l.Addr().String()
}
