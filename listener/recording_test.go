package listener_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/internal/harness/volume"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

const counted = `
- endpoint: {path: /fixed, response: {body: '{"fixed": %d}'}}
- endpoint: {path: "/users/:id", response: {body: '{"id": "{{path-params.id}}"}'}}
- endpoint: {method: POST, path: /orders, response: {status: 201, body: '{"n": {{json-params.n}}}'}}
- endpoint: {path: /broken, response: {status: 503, body: declared}}
- endpoint: {path: /none, response: {status: 204}}
- endpoint: {path: /missing, response: {external-body: {provider: json, path: "nowhere/{{query-params.f}}.json"}}}
- endpoint: {path: /either, responses: [{status: 200, body: a}, {status: 500, body: b}]}
- endpoint: {path: /limited, response: {body: ok}, rate-limit: {window-ms: 3600000, max-requests: 50}}
- endpoint: {path: /narrow, response: {body: ok}, latency: {min-ms: 1, max-ms: 2}, capacity: {concurrent: 2, queue: 1}}
- endpoint: {path: /flaky, response: {body: ok}, latency: {failure-rate: 0.3, timeout-rate: 0.3, timeout-ms: 1}}
- endpoint: {path: /late, response: {body: ok}, latency: {min-ms: 60000, max-ms: 60000}}
- endpoint: {path: /reset, response: {body: 0123456789}, fault: {type: reset}}
- endpoint: {path: /empty, response: {body: 0123456789}, fault: {type: empty}}
- endpoint: {path: /malformed, response: {body: 0123456789}, fault: {type: malformed}}
- endpoint: {path: /truncate, response: {body: 0123456789}, fault: {type: truncate}}
- endpoint: {path: /drip, response: {body: 0123456789}, fault: {type: slow-body, bytes-per-second: 100000}}
- websocket: {path: /socket, on-message: [{pattern: ping, response: pong}]}
`

// away is declared only in every other specification.
const away = "- endpoint: {path: /away, response: {body: here}}\n"

const handshake = " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// ways lists all paths that a request can take: how it is counted, what is sent, and what the
// client does afterwards.
var ways = []struct{ of, sent, then string }{
	{"GET /fixed", "GET /fixed HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /fixed", "GET /fixed?a=b HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n\r\n", ""},
	{"GET /fixed", "HEAD /fixed HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /users/:id", "GET /users/7 HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /users/:id", "HEAD /users/7 HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"POST /orders", "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n{\"n\": 7}", ""},
	{"POST /orders", "POST /orders HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"n\": 7}\r\n0\r\n\r\n", ""},
	{"GET /broken", "GET /broken HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /none", "GET /none HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /missing", "GET /missing?f=x HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /either", "GET /either HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /limited", "GET /limited HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /narrow", "GET /narrow HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /flaky", "GET /flaky HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /late", "GET /late HTTP/1.1\r\nHost: a\r\n\r\n", "leave"},
	{"GET /reset", "GET /reset HTTP/1.1\r\nHost: a\r\n\r\n", "spoilt"},
	{"GET /empty", "GET /empty HTTP/1.1\r\nHost: a\r\n\r\n", "spoilt"},
	{"GET /malformed", "GET /malformed HTTP/1.1\r\nHost: a\r\n\r\n", "spoilt"},
	{"GET /truncate", "GET /truncate HTTP/1.1\r\nHost: a\r\n\r\n", "spoilt"},
	{"GET /drip", "GET /drip HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"GET /away", "GET /away HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"WebSocket /socket", "GET /socket" + handshake + "Sec-WebSocket-Version: 13\r\n\r\n", "ping"},
	{"WebSocket /socket", "GET /socket" + handshake + "Sec-WebSocket-Version: 12\r\n\r\n", "end"},
	{"unmatched", "GET /socket HTTP/1.1\r\nHost: a\r\n\r\n", "end"},
	{"unmatched", "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"unmatched", "DELETE /fixed HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"options", "OPTIONS /users/7 HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"options", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"malformed", "GET /fixed HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "end"},
	{"malformed", "GET /fixed HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 70_000) + "\r\n\r\n", "end"},
	{"malformed", "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\nExpect: 100-continue\r\n\r\n", "end"},
	{"malformed", "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n", "end"},
}

// tallied holds the counts of one side: answers by endpoint and status, and the bytes of bodies
// that were read.
type tallied struct {
	responses map[string]int
	bytes     map[string]int
	pings     int
}

func newTallied() tallied { return tallied{map[string]int{}, map[string]int{}, 0} }

func (t *tallied) add(m tallied) {
	for k, n := range m.responses {
		t.responses[k] += n
	}
	for k, n := range m.bytes {
		t.bytes[k] += n
	}
	t.pings += m.pings
}

// client is one of the clients; it sends one request after the other.
type client struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
	text    []byte // the bytes to send
	tallied
}

// dial connects, unless it is connected.
func (c *client) dial() error {
	if c.conn != nil {
		return nil
	}
	conn, err := net.Dial("tcp", c.address)
	c.conn, c.in = conn, bufio.NewReader(conn)
	return err
}

// get requests a path, and reads the answer.
func (c *client) get(path string) error {
	if err := c.dial(); err != nil {
		return err
	}
	if _, err := io.WriteString(c.conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return err
}

// ask sends the requests of one or more ways, without waiting for answers in between, and reads the
// answers. Only the last of several may end the connection.
func (c *client) ask(several ...int) error {
	if err := c.dial(); err != nil {
		return err
	}
	c.text = c.text[:0]
	for _, way := range several {
		c.text = append(c.text, ways[way].sent...)
	}
	if _, err := c.conn.Write(c.text); err != nil && ways[several[len(several)-1]].of != "malformed" {
		return err
	}
	for _, way := range several {
		if err := c.read(way); err != nil {
			return err
		}
	}
	return nil
}

// read reads the answer to a request of one way.
func (c *client) read(way int) error {
	w := &ways[way]
	switch w.then {
	case "leave":
		c.responses[w.of+" 499"]++
		return c.end()
	case "spoilt":
		_, _ = io.Copy(io.Discard, c.in) // until the connection ends, however that happens
		c.responses[w.of+" 200"]++
		return c.end()
	}
	method, _, _ := strings.Cut(w.sent, " ")
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		return fmt.Errorf("%.40q: %w", w.sent, err)
	}
	of := w.of
	if of == "GET /away" && resp.StatusCode == 404 {
		of = "unmatched"
	}
	c.responses[fmt.Sprint(of, " ", resp.StatusCode)]++
	if w.then == "ping" {
		return c.ping()
	}
	n, err := io.Copy(io.Discard, resp.Body)
	c.bytes[of] += int(n)
	if err == nil && (w.then == "end" || resp.Close) {
		err = c.end()
	}
	return err
}

// ping sends a WebSocket message, waits for the answer, and leaves.
func (c *client) ping() error {
	if _, err := io.WriteString(c.conn, "\x81\x84\x00\x00\x00\x00ping"); err != nil {
		return err
	}
	pong := make([]byte, 6)
	if _, err := io.ReadFull(c.in, pong); err != nil || string(pong) != "\x81\x04pong" {
		return fmt.Errorf("got %q: %w", pong, err)
	}
	c.pings++
	return c.end()
}

func (c *client) end() error {
	err := c.conn.Close()
	c.conn = nil
	return err
}

// served returns the server's counts in the form in which the clients count.
func served(c record.Counts) tallied {
	t := newTallied()
	add := func(of string, e *record.EndpointCounts) {
		for status, n := range e.Statuses {
			t.responses[fmt.Sprint(of, " ", status)] += int(n)
		}
		t.bytes[of] += int(e.Out)
	}
	for i := range c.Endpoints {
		add(c.Endpoints[i].Endpoint, &c.Endpoints[i])
		t.pings += int(c.Endpoints[i].Sent)
		if strings.HasPrefix(c.Endpoints[i].Endpoint, "WebSocket") { // messages are not part of the answers' bytes
			t.bytes[c.Endpoints[i].Endpoint] -= 4 * int(c.Endpoints[i].Sent)
		}
	}
	add("unmatched", &c.Unmatched)
	add("options", &c.Options)
	add("malformed", &c.Malformed)
	add("GET /away", &c.Gone)
	return t
}

// difference lists the counts in which two sides differ.
func (t tallied) difference(other tallied) (all []string) {
	for _, of := range []struct {
		what string
		a, b map[string]int
	}{{"answers", t.responses, other.responses}, {"bytes", t.bytes, other.bytes}} {
		keys := maps.Clone(of.a)
		maps.Copy(keys, of.b)
		for k := range keys {
			if of.what == "bytes" && strings.Contains("GET /reset GET /empty GET /malformed GET /truncate", k) {
				continue // the client does not know how much a fault held back
			}
			if of.a[k] != of.b[k] {
				all = append(all, fmt.Sprintf("%s of %s: %d and %d", of.what, k, of.a[k], of.b[k]))
			}
		}
	}
	if t.pings != other.pings {
		all = append(all, fmt.Sprintf("messages: %d and %d", t.pings, other.pings))
	}
	return all
}

// traffic describes what 64 clients send together.
type traffic struct {
	sample int // one in sample requests is kept in the journal
	each   int // requests of each client, and up to three more
	// One in leaving requests takes a way that ends its connection: the system allows no more than
	// about 28,000 connections a minute.
	leaving int
	reload  time.Duration // the interval at which another specification is served
}

// The counts of 64 clients equal those of the server, for each endpoint and status, whichever ways
// the requests take, and whatever is reloaded in the meantime.
func TestRecord_CountsAreThoseOfTheClients(t *testing.T) {
	samples := []int{0, 1, 10}
	if !volume.Full() {
		samples = samples[1:2]
	}
	for _, sample := range samples {
		t.Run(fmt.Sprint("sample ", sample), func(t *testing.T) {
			c, tally := traffic{sample, 150, 2, 5 * time.Millisecond}.count(t)
			if c.Gone.Requests == 0 {
				t.Error("no endpoint is gone after the reloads")
			}
			checkParts(t, c, tally, sample)
		})
	}
}

// BenchmarkRecord_CountsAreThoseOfTheClients is the same test with any duration: CONTRIBUTING.md
// says how to run it. It fails if a single request is not counted, or is counted twice.
func BenchmarkRecord_CountsAreThoseOfTheClients(b *testing.B) {
	t := traffic{sample: 100, each: (b.N + 63) / 64, leaving: 2000, reload: time.Second}
	c, tally := t.count(b)
	checkParts(b, c, tally, t.sample)
}

// next returns what a client sends next: mostly one request.
func (t *traffic) next(rng *rand.Rand, few []int) []int {
	if rng.IntN(t.leaving) == 0 {
		return []int{rng.IntN(len(ways))}
	}
	several := make([]int, 1, 4)
	if rng.IntN(4) == 0 {
		several = several[:2+rng.IntN(3)]
	}
	for i := range several {
		several[i] = few[rng.IntN(len(few))]
	}
	return several
}

// ask makes one client send its requests, and returns the client's counts.
func (t *traffic) ask(tb testing.TB, address string, number int) tallied {
	var few []int // the ways after which the connection stays open
	for i := range ways {
		if ways[i].then == "" {
			few = append(few, i)
		}
	}
	c := client{address: address, tallied: newTallied()}
	rng := rand.New(rand.NewPCG(uint64(number), uint64(t.sample)))
	for asked := 0; asked < t.each; {
		several := t.next(rng, few)
		asked += len(several)
		if err := c.ask(several...); err != nil {
			tb.Error(err)
			break
		}
	}
	if c.conn != nil {
		_ = c.end()
	}
	return c.tallied
}

// count makes the clients send their requests, compares their counts with those of the server, and
// returns the server's counts and the statistics of its journal.
func (t traffic) count(tb testing.TB) (record.Counts, record.JournalStats) {
	tb.Helper()
	spec := func(n int) *config.Spec {
		text := fmt.Sprintf(counted, n%10)
		if n%2 == 0 {
			text += away
		}
		return config.Parse("m.yml", []byte(text))
	}
	server := listenertest.Start(tb, spec(0), listener.Options{
		Record: &record.Options{Journal: record.JournalOptions{Sample: t.sample}},
		Logger: slog.New(slog.DiscardHandler), // it would log a warning at each reload
	})
	clients := newTallied()
	var mu sync.Mutex
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			counted := t.ask(tb, server.Addr().String(), g)
			mu.Lock()
			defer mu.Unlock()
			clients.add(counted)
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	reloads := 0
	for done := false; !done; {
		select {
		case <-over:
			done = true
		case <-time.After(t.reload):
			if err := server.Apply(spec(reloads)); err != nil {
				tb.Fatal(err)
			}
			reloads++
			runtime.GC() // so that the counters of some closed connections are added up
		}
	}
	// The server may not yet have read the data from the clients that left last.
	c := server.Counts()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); c = server.Counts() {
		if c.InFlight == 0 && len(clients.difference(served(c))) == 0 {
			break
		}
		runtime.Gosched()
	}
	for _, wrong := range clients.difference(served(c)) {
		tb.Errorf("after %d reloads the clients and the server have counted: %s", reloads, wrong)
	}
	return c, server.JournalStats()
}

// checkParts checks the other counts against the number of answers.
func checkParts(t testing.TB, c record.Counts, journal record.JournalStats, sample int) {
	t.Helper()
	all := c.Unmatched.Requests + c.Options.Requests + c.Malformed.Requests + c.Gone.Requests
	for _, e := range c.Endpoints {
		all += e.Requests
		switch e.Endpoint {
		case "GET /reset", "GET /empty", "GET /malformed", "GET /truncate":
			if kind := e.Endpoint[5:]; e.Faults[kind] != e.Requests || len(e.Faults) > 1 {
				t.Errorf("%s: faults %v of %d", e.Endpoint, e.Faults, e.Requests)
			}
		case "GET /drip":
			if e.Faults["slow-body"] != e.Requests {
				t.Errorf("%s: faults %v of %d", e.Endpoint, e.Faults, e.Requests)
			}
		case "GET /flaky":
			if e.Faults["failure"] != e.Statuses[500] || e.Faults["timeout"] != e.Statuses[504] || e.InjectionError.Count != e.Statuses[504] {
				t.Errorf("%s: faults %v of %v, %d late", e.Endpoint, e.Faults, e.Statuses, e.InjectionError.Count)
			}
		case "GET /limited":
			if e.Limited != e.Statuses[429] || e.Statuses[200] != min(e.Requests, 50) {
				t.Errorf("%s: %d limited of %v", e.Endpoint, e.Limited, e.Statuses)
			}
		case "GET /narrow":
			if e.Refused != e.Statuses[503] || e.Injected.Count != e.Statuses[200] || e.Statuses[200] > 0 && e.Injected.Quantile(0) < 900*time.Microsecond {
				t.Errorf("%s: %d refused of %v, %d injected, at least %v", e.Endpoint, e.Refused, e.Statuses, e.Injected.Count, e.Injected.Quantile(0))
			}
		case "POST /orders":
			if e.In != 8*e.Requests {
				t.Errorf("%s: %d bytes of %d bodies", e.Endpoint, e.In, e.Requests)
			}
		case "WebSocket /socket":
			if e.Received != e.Statuses[101] || e.In != 4*e.Received {
				t.Errorf("%s: %d messages of %v", e.Endpoint, e.Received, e.Statuses)
			}
		}
		if e.Service.Count != e.Requests-e.Statuses[499] {
			t.Errorf("%s: %d times of service of %v", e.Endpoint, e.Service.Count, e.Statuses)
		}
	}
	seen := uint64(0)
	for _, n := range journal.Seen {
		seen += n
	}
	if sample == 1 && seen != all || seen < c.Unmatched.Requests+c.Malformed.Requests {
		t.Errorf("the journal was given %d of %d requests", seen, all)
	}
}

// unrecorded starts a server that records nothing.
func unrecorded(t *testing.T, text string) *listener.Server {
	t.Helper()
	server, err := listener.Start(config.Parse("m.yml", []byte(text)), listener.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // no test checks its error
	return server
}

// journaling starts a server that keeps every request.
func journaling(t *testing.T, text string) *listener.Server {
	t.Helper()
	return listenertest.Start(t, config.Parse("m.yml", []byte(text)), listener.Options{
		Record: &record.Options{Journal: record.JournalOptions{Sample: 1}},
		Env:    func(string) (string, bool) { return "", false },
	})
}

const kept = `
- endpoint: {path: "/users/:id|int", response: {body: fixed}}
- endpoint: {path: "/users/:id|int", host: "b.test", if: 'query-params.q = 1', response: {body: other}}
- endpoint: {method: POST, path: "/orders/:kind", response: {status: 201, body: '{"n": {{json-params.n}}}', headers: {Set-Cookie: "s=1"}}}
- endpoint: {path: /static, response: {body: static}}
- endpoint: {path: /flaky, response: {body: ok}, latency: {failure-rate: 1}}
`

func TestJournal_HasWhatCame(t *testing.T) {
	server := journaling(t, kept)
	conn := dial(t, server, "POST /orders/a?x=1 HTTP/1.1\r\nHost: mock.test\r\nAuthorization: Bearer abc\r\nX-A: 1\r\nContent-Length: 7\r\n\r\n{\"n\":3}")
	response(t, conn)
	for _, path := range []string{"/nowhere", "/flaky", "/static", "/static", "/users/7"} {
		response(t, dial(t, server, "GET "+path+" HTTP/1.1\r\nHost: mock.test\r\n\r\n"))
	}
	response(t, dial(t, server, "GET / HTTP/1.1\r\nHost : b\r\n\r\n"))
	all := server.Journal()
	if len(all) != 7 {
		t.Fatalf("%d are kept of 7", len(all))
	}
	for i, want := range []struct {
		endpoint, target string
		status           int
		code             string
		remarkable       record.Kept // why it is kept; "" if it is not remarkable
	}{
		{"", "", 400, "bad_request", record.Failed},
		{"GET /users/:id|int", "/users/7", 200, "", ""},
		{"GET /static", "/static", 200, "", ""}, {"GET /static", "/static", 200, "", ""},
		{"GET /flaky", "/flaky", 500, "injected_failure", record.Failed},
		{"", "/nowhere", 404, "endpoint_not_found", record.Unmatched},
		{"POST /orders/:kind", "/orders/a?x=1", 201, "", ""},
	} {
		x := all[i]
		if x.Endpoint != want.endpoint || x.Target != want.target || x.Status != want.status || x.Code != want.code || (x.Reason != "") != (want.code != "") ||
			want.remarkable != "" && x.Kept != want.remarkable || (x.EndpointID == "") != (x.Endpoint == "") || x.ID == 0 || time.Since(x.Time) > time.Minute {
			t.Errorf("got %+v, want %+v", x, want)
		}
	}
	order := all[6]
	if string(order.Request.Body) != `{"n":3}` || string(order.Response.Body) != `{"n": 3}` || order.Host != "mock.test" || order.Method != "POST" || order.Took <= 0 {
		t.Errorf("got %+v", order)
	}
	if text := fmt.Sprint(order); strings.Contains(text, "Bearer") || strings.Contains(text, "s=1") || !strings.Contains(text, "X-A") {
		t.Errorf("a secret is shown, or another value is hidden: %s", text)
	}
	server.ResetJournal()
	if left := server.Journal(); len(left) != 0 || len(server.Unmatched()) != 0 {
		t.Errorf("after a reset %d are kept", len(left))
	}
}
