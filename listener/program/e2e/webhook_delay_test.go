package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// marker declares an endpoint whose webhook is sent a second after its answer. Webhooks that are
// due before that arrive before it.
const marker = `- endpoint:
    method: POST
    path: /marker
    response: {}
    webhook: {method: POST, url: "%s/marker", sleep-time: 1}
`

// raw sends a text to the program over a connection of its own. Only the test reads from the
// connection.
func raw(p *Process, text string) net.Conn {
	p.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = conn.Close() }) // some tests have closed it already
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		p.T.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
		p.T.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		p.T.Fatal(err)
	}
	return conn
}

// readResponse reads an answer to its end and returns the size of its body.
func readResponse(t *testing.T, r *bufio.Reader) int64 {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The delay begins when the response has been written, not before the client has its answer.
func TestWebhook_DelayCountsFromTheResponse(t *testing.T) {
	target := NewHookTarget(t, nil)
	p := Serving(t, fmt.Sprintf(`- endpoint:
    path: /a
    response: {body: x}
    webhooks:
      - {url: "%[1]s/late", method: POST, sleep-time: "300ms"}
      - {url: "%[1]s/later", method: POST, sleep-time: 0.6}
      - {url: "%[1]s/minute", method: POST}
`, target.URL))
	before := time.Now()
	p.Get("/a").Want(t, 200, "x")
	for _, c := range []struct {
		uri string
		min time.Duration
	}{{"/late", 300 * time.Millisecond}, {"/later", 600 * time.Millisecond}} {
		r := target.Next(t)
		if r.URI != c.uri || r.At.Sub(before) < c.min {
			t.Errorf("%s arrived after %v, want %s after %v", r.URI, r.At.Sub(before), c.uri, c.min)
		}
	}
	target.NothingMore(t, p) // one minute, which is longer than the grace period
}

// big returns an endpoint whose answer is too large for socket buffers: eight times the size of
// the request body.
func big(target *HookTarget, sleepTime string) string {
	return fmt.Sprintf(`- endpoint:
    method: POST
    path: /big
    response: {headers: {Content-Type: text/plain}, body: "%s"}
    webhook: {method: POST, url: "%s/big", sleep-time: %s}
`, strings.Repeat("{{body}}", 8), target.URL, sleepTime) + fmt.Sprintf(marker, target.URL)
}

const (
	aMany     = 2 << 20
	manyBytes = "POST /big HTTP/1.1\r\nHost: a\r\nContent-Length: 2097152\r\n\r\n"
)

// begun requests the big answer and returns once its first byte has arrived; the rest is unread.
func begun(p *Process) (net.Conn, *bufio.Reader) {
	p.T.Helper()
	conn := raw(p, manyBytes+strings.Repeat("x", aMany))
	r := bufio.NewReaderSize(conn, 16)
	if _, err := r.Peek(1); err != nil {
		p.T.Fatal(err)
	}
	return conn, r
}

// The delay begins once a slow client has read its answer, however long that takes.
func TestWebhook_DelayBeginsOnceASlowClientHasTheReply(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, big(target, "0.1"))
	_, r := begun(p)
	p.Do("POST", "/marker", "").Want(t, 200, "")
	if first := target.Next(t); first.URI != "/marker" {
		t.Fatalf("%s was sent although its response was not read", first.URI)
	}
	if n := readResponse(t, r); n != 8*aMany {
		t.Errorf("read %d bytes, want %d", n, 8*aMany)
	}
	if second := target.Next(t); second.URI != "/big" {
		t.Errorf("got %s, want /big", second.URI)
	}
	target.NothingMore(t, p)
}

// When a client disconnects, writing its answer stops, and the delay begins.
func TestWebhook_OfAReplyThatIsBrokenOff(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, big(target, "0"))
	conn, _ := begun(p)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if r := target.Next(t); r.URI != "/big" {
		t.Errorf("got %s, want /big", r.URI)
	}
	target.NothingMore(t, p)
}

// If the answer is still being written at the end of the grace period, the delay of its webhook
// has not begun. The webhook is counted nevertheless.
func TestWebhook_OfAReplyThatStoppingCutsOff(t *testing.T) {
	t.Parallel()
	p := Serving(t, big(NewHookTarget(t, nil), "3600"), "--grace", "200ms")
	begun(p)
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "webhooks", "delivered=0", "abandoned=1")
	p.WaitLine(0, "1 request was cut off")
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

// An incomplete request that is pipelined after another one delays neither the answer to the first
// nor its webhook.
func TestWebhook_OfPipelinedRequests(t *testing.T) {
	t.Parallel()
	const size = 6000 // more than the buffer of a connection, and less than twice its size
	target := NewHookTarget(t, nil)
	p := Serving(t, fmt.Sprintf(`- endpoint:
    method: POST
    path: /a
    response: {headers: {Content-Type: text/plain}, body: %s}
    webhook: {method: POST, url: "%s/{{query-params.n}}", sleep-time: 0}
`, strings.Repeat("x", size), target.URL))
	ask := func(n int) string {
		return fmt.Sprintf("POST /a?n=%d HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", n)
	}
	conn := raw(p, ask(1)+ask(2)+strings.TrimSuffix(ask(3), "dy"))
	r := bufio.NewReader(conn)
	expect := func(responses int, uris ...string) {
		t.Helper()
		for range responses {
			if n := readResponse(t, r); n != size {
				t.Errorf("an answer of %d bytes, want %d", n, size)
			}
		}
		for range uris {
			if got := target.Next(t).URI; !slices.Contains(uris, got) {
				t.Errorf("got %s, want one of %q", got, uris)
			}
		}
	}
	expect(2, "/1", "/2")
	if _, err := io.WriteString(conn, "dy"); err != nil {
		t.Fatal(err)
	}
	expect(1, "/3")
	target.NothingMore(t, p)
}

// A client that keeps its connection open after its last answer, so that the server reads and
// discards its input for a while, delays no webhook.
func TestWebhook_IsNotHeldUpByWhatIsDiscarded(t *testing.T) {
	target := NewHookTarget(t, nil)
	p := Serving(t, WithHook("/a", target.URL+"/a", "")+fmt.Sprintf(marker, target.URL))
	conn := raw(p, "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\nmore")
	readResponse(t, bufio.NewReader(conn))
	p.Do("POST", "/marker", "").Want(t, 200, "")
	if first := target.Next(t); first.URI != "/a" {
		t.Errorf("%s arrived before the webhook that was due a second earlier", first.URI)
	}
	target.Next(t)
	target.NothingMore(t, p)
}
