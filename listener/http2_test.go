package listener_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

// overHTTP2 returns a client that speaks HTTP/2 from the first byte, over connections of its own.
func overHTTP2(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const overBoth = `
- endpoint: {path: /fixed, response: {headers: {X-A: "1", Connection: x}, body: fixed}}
- endpoint: {path: "/users/:id", response: {headers: {X-Id: "{{path-params.id}}"}, body: '{"id": "{{path-params.id}}", "c": "{{cookie-params.c}}", "h": "{{host}}"}'}}
- endpoint: {path: /only, if: protocol = h2, response: {body: two}}
- endpoint: {path: /only, response: {body: one}}
- endpoint: {method: POST, path: /orders, response: {status: 201, body: '{"n": {{json-params.n}}}'}}
- endpoint: {path: /none, response: {status: 204}}
- endpoint: {path: /same, response: {status: 304, headers: {ETag: '"x"'}}}
- endpoint: {path: /late, latency: {min: 20ms, max: 20ms}, response: {body: late}}
- endpoint: {path: /limited, rate-limit: {max-requests: 1, window: 1h}, response: {body: ok}}
- endpoint: {path: /outcomes, responses: [{status: 503, body: down}]}
- endpoint: {path: /queue, capacity: {concurrent: 1, queue: 100}, latency: {min: 2ms, max: 2ms}, response: {body: ok}}
- websocket: {path: /socket, on-connect: {response: {body: hi}}}
`

// HTTP/2 answers like HTTP/1.1: status, fields and body are the same.
func TestHTTP2_RepliesTheSame(t *testing.T) {
	server := journaling(t, overBoth)
	ask := func(client *http.Client, method, path, body string) string {
		req, err := http.NewRequest(method, server.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", "a=b; c=d")
		if strings.HasPrefix(path, "/fixed?origin") {
			req.Header.Set("Origin", "https://a.test")
		}
		resp, err := client.Do(req)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		resp.Header.Del("Date")
		return fmt.Sprint(resp.StatusCode, " ", resp.ContentLength, " ", resp.Header, " ", string(got), " ", err)
	}
	one, two := &http.Client{Transport: &http.Transport{}}, overHTTP2(t)
	defer one.CloseIdleConnections()
	for _, c := range [][2]string{
		{"GET", "/fixed"}, {"HEAD", "/fixed"}, {"OPTIONS", "/fixed"}, {"GET", "/fixed?origin"}, {"POST", "/fixed"}, {"GET", "/unknown"},
		{"GET", "/users/7?x=%20"}, {"HEAD", "/users/7"}, {"POST", "/orders"}, {"GET", "/none"}, {"GET", "/same"}, {"GET", "/late"}, {"HEAD", "/late"},
		{"OPTIONS", "/users/1"}, {"GET", "/socket"}, {"GET", "/a%2fb/../c"},
	} {
		body := ""
		if c[0] == "POST" {
			body = `{"n": 1.50}`
		}
		a, b := ask(one, c[0], c[1], body), ask(two, c[0], c[1], body)
		a = strings.Replace(a, "Connection:[Upgrade] ", "", 1) // HTTP/2 has neither
		a = strings.Replace(a, "Upgrade:[websocket] ", "", 1)
		a = strings.Replace(a, " Upgrade:[websocket]", "", 1)
		if a != b {
			t.Errorf("%s %s:\n%s\n%s", c[0], c[1], a, b)
		}
	}
	if a, b := ask(one, "GET", "/only", ""), ask(two, "GET", "/only", ""); !strings.Contains(a, " one ") || !strings.Contains(b, " two ") {
		t.Errorf("the condition sees %s and %s", a, b)
	}
	for _, x := range server.Journal() {
		if x.Protocol != "h2" && x.Protocol != "http/1.1" {
			t.Errorf("the journal has the protocol %q", x.Protocol)
		}
	}
	counts := server.Counts().Protocols
	if counts[0] != counts[2] || counts[0] < 16 {
		t.Errorf("%d requests arrived by each protocol", counts)
	}
}

// Declared limits and capacities apply to streams.
func TestHTTP2_LimitsAndCapacity(t *testing.T) {
	server := journaling(t, overBoth)
	client := overHTTP2(t)
	get := func(path string) (int, string) {
		resp, err := client.Get(server.URL() + path)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, _ := get("/limited"); status != 200 {
		t.Errorf("got %d", status)
	}
	if status, _ := get("/limited"); status != 429 {
		t.Errorf("got %d", status)
	}
	if status, body := get("/outcomes"); status != 503 || body != "down" {
		t.Errorf("got %d %s", status, body)
	}
	begun := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if status, _ := get("/queue"); status != 200 {
				t.Errorf("got %d", status)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took < 100*time.Millisecond { // 50 requests one after the other, 2 ms each
		t.Errorf("50 requests passed in %v", took)
	}
}

// A fault affects only its own stream, unless it ends the connection.
func TestHTTP2_Faults(t *testing.T) {
	server := journaling(t, faulty)
	client := overHTTP2(t)
	for _, c := range []struct {
		path, body string
		fails      bool
	}{
		{"/reset/1", "", true}, {"/empty/1", "", true}, {"/malformed/1", "", true}, {"/truncate/1", "01234", true}, {"/truncate-none", "", true},
		{"/slow/1", "0123456789", false}, {"/slow-none", "", false}, {"/never", "fine", false},
	} {
		resp, err := client.Get(server.URL() + c.path)
		body := []byte{}
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if (err != nil) != c.fails || c.path != "/malformed/1" && string(body) != c.body {
			t.Errorf("%s: got %q, %v", c.path, body, err)
		}
		if c.path == "/malformed/1" { // its connection was closed, which the client may not know yet
			client = overHTTP2(t)
		}
		if resp, err := client.Get(server.URL() + "/ok"); err != nil || resp.StatusCode != 200 {
			t.Errorf("after %s: %v", c.path, err)
		}
	}
}

// A reset of the connection ends all its streams, for both protocols.
func TestHTTP2_ResetOfTheConnection(t *testing.T) {
	server := unrecorded(t, `
- endpoint: {path: /long, latency: {min: 1h, max: 1h}, response: {body: late}}
- endpoint: {path: /reset, response: {status: 200}, fault: {type: reset, of: connection, rate: 1}}
`)
	c := speak(t, server)
	c.get(1, "/long")
	c.get(3, "/reset")
	for {
		f, err := c.ReadFrame()
		if err != nil {
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the connection ended with %v", err)
			}
			break
		}
		if f.Header().StreamID != 0 {
			t.Errorf("got %v", f)
		}
	}
	if _, _, _, err := askOnce(t, server.URL()+"/reset"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("by HTTP/1.1: %v", err)
	}
}

// A webhook's delay starts when the response has been written, and the next response does not wait
// for it.
func TestHTTP2_Webhook(t *testing.T) {
	received := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- string(body)
	}))
	defer target.Close()
	server := started(t, config.Parse("m.yml", []byte(`
- endpoint: {method: POST, path: /orders, response: {body: ok}, webhook: {url: "`+target.URL+`", body: "{{json-params.id}} {{protocol}}", sleep-time: 0}}
- endpoint: {method: POST, path: /late, latency: {min: 5ms, max: 5ms}, response: {body: ok}, webhook: {url: "`+target.URL+`", body: "{{json-params.id}} late", sleep-time: 0}}
`)), listener.Options{})
	client := overHTTP2(t)
	for _, path := range []string{"/orders", "/late"} {
		if _, err := client.Post(server.URL()+path, "", strings.NewReader(`{"id": 7}`)); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{<-received, <-received}
	if slices.Sort(got); got[0] != `7 "h2"` || got[1] != "7 late" {
		t.Errorf("got %q", got)
	}
}

// A client that cancels a request is counted as having left.
func TestHTTP2_Left(t *testing.T) {
	server := journaling(t, `- endpoint: {path: /long, latency: {min: 1h, max: 1h}, response: {body: late}}`)
	client := overHTTP2(t)
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL()+"/long", nil)
	go func() {
		for server.Counts().InFlight == 0 && t.Context().Err() == nil {
		}
		cancel()
	}()
	if _, err := client.Do(req); err == nil {
		t.Error("the request was answered")
	}
	for server.Counts().Endpoints[0].Statuses[record.StatusLeft] == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the request is not counted")
		}
	}
}

// A body above the maximum size is refused with a response.
func TestHTTP2_MaxBody(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(overBoth)), listener.Options{MaxBody: 1000, Record: &record.Options{}})
	client := overHTTP2(t)
	for _, body := range []io.Reader{bytes.NewReader(make([]byte, 5000)), io.MultiReader(bytes.NewReader(make([]byte, 5000)))} {
		resp, err := client.Post(server.URL()+"/orders", "", body)
		if err != nil || resp.StatusCode != 413 {
			t.Errorf("got %v, %v", resp, err)
		}
	}
	if n := server.Counts().Malformed.Statuses[413]; n != 2 {
		t.Errorf("%d requests are counted, want 2", n)
	}
}

// The first bytes select the protocol, even if they arrive one by one. Input that only begins like
// the preface is not HTTP/2.
func TestHTTP2_FirstBytes(t *testing.T) {
	server := unrecorded(t, overBoth)
	conn := dial(t, server, "")
	for _, b := range []byte(http2.ClientPreface) {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if f, err := framer.ReadFrame(); err != nil || f.Header().Type != http2.FrameSettings {
		t.Errorf("got %v, %v", f, err)
	}
	if got := response(t, dial(t, server, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")); !strings.Contains(got, "version of the request line") {
		t.Errorf("got %q", got)
	}
	if got := response(t, dial(t, server, "PRINT /fixed HTTP/1.1\r\nHost: a\r\n\r\n")); !strings.Contains(got, "method_not_allowed") {
		t.Errorf("got %q", got)
	}
	if got := response(t, dial(t, server, "GET /fixed HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n")); got != "fixed" {
		t.Errorf("got %q", got)
	}
}

// With HTTP/2 disabled, the HTTP/2 preface is a request line with an unknown version.
func TestHTTP2_None(t *testing.T) {
	server := started(t, hello("x"), listener.Options{NoHTTP2: true})
	if got := response(t, dial(t, server, http2.ClientPreface)); !strings.Contains(got, "version of the request line") {
		t.Errorf("got %q", got)
	}
}

// An HTTP/1.1 connection that has reached its maximum age is closed after its next response, which
// announces the end of the connection.
func TestMaxConnectionAge(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"same", "{{path}}"} {
		server := started(t, hello(text), listener.Options{MaxConnectionAge: time.Nanosecond})
		client := &http.Client{Transport: &http.Transport{}}
		for closed := false; !closed; { // the server's clock has ticked by then
			resp, err := client.Get(server.URL() + "/hello")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			closed = resp.Close
		}
		client.CloseIdleConnections()
	}
}

var errStopping = errors.New("no connection is opened any more")

// Neither a reload nor a shutdown loses a stream.
func TestHTTP2_ReloadAndShutdownLoseNothing(t *testing.T) {
	nothingLeft(t)
	const text = `
- endpoint: {path: /hello, response: {body: hello}}
- endpoint: {path: /late, latency: {min: 3ms, max: 30ms}, response: {body: "{{path}}"}}
`
	server := start(t, config.Parse("m.yml", []byte(text)), listener.Options{LastCall: 50 * time.Millisecond})
	var sent atomic.Int64
	var all sync.WaitGroup
	stopping := make(chan struct{})
	for range 4 {
		client := overHTTP2(t)
		client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			select {
			case <-stopping: // a connection that is no longer accepted proves nothing
				return nil, errStopping
			default:
				return new(net.Dialer).DialContext(ctx, network, address)
			}
		}
		for i := range 25 {
			all.Go(func() {
				for {
					resp, err := client.Get(server.URL() + []string{"/hello", "/late"}[i%2])
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						_ = resp.Body.Close()
					}
					if err != nil {
						if !errors.Is(err, errStopping) {
							t.Error(err)
						}
						return
					}
					sent.Add(1)
				}
			})
		}
	}
	for sent.Load() < 2000 {
		if err := server.Apply(config.Parse("m.yml", []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	close(stopping)
	if err := server.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// The access log shows the protocol of each request.
func TestHTTP2_AccessLog(t *testing.T) {
	var log harness.Log
	server := started(t, hello("x"), listener.Options{AccessLog: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := overHTTP2(t).Get(server.URL() + "/hello"); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "protocol=h2") {
		t.Errorf("the log says %s", got)
	}
}

// Clients that are not written in Go are served.
func TestHTTP2_Programs(t *testing.T) {
	server := unrecorded(t, overBoth)
	host, port, _ := net.SplitHostPort(server.Addr().String())
	for _, c := range []struct{ args, want string }{
		{"curl -sS --http2-prior-knowledge -d {\"n\":2} " + server.URL() + "/orders", `"n": 2`},
		{"curl -sS --http2 " + server.URL() + "/only", "one"}, // it asks for an upgrade, which is ignored
		{"nghttp -n -v " + server.URL() + "/users/7", ":status: 200"},
		{"node -e require('http2').connect('" + server.URL() + "').request({':path':'/only'}).on('data',d=>console.log(`${d}`)).on('close',()=>process.exit())", "two"},
		{"h2load -n 2000 -c 10 -m 20 " + server.URL() + "/users/7", "2000 succeeded, 0 failed, 0 errored"},
		{"h2load -n 2000 -c 10 -m 20 " + server.URL() + "/late", "2000 succeeded, 0 failed, 0 errored"},
		// The port speaks HTTP/1.1 as well, so input that is not a preface gets an HTTP/1.1 answer
		// (3.5/2).
		{"h2spec -S -h " + host + " -p " + port, "1 failed"},
	} {
		words := strings.Fields(c.args)
		t.Run(words[0], func(t *testing.T) {
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skip(words[0] + " is not on the PATH")
			}
			out, _ := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput() // its output is checked below
			if !strings.Contains(string(out), c.want) {
				t.Errorf("%s says %s", words[0], out)
			}
		})
	}
}

// A request that an operation does not accept is refused with the same answer as over HTTP/1.1.
func TestHTTP2_Validates(t *testing.T) {
	const document = `{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/orders": {"post": {
"parameters": [{"name": "X-Tenant", "in": "header", "required": true, "schema": {"type": "string"}}],
"requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["id"]}}}},
"responses": {"201": {"description": "made"}}}}}}`
	server := started(t, config.Loader{Validate: true}.Parse("b.json", []byte(document)), listener.Options{})
	one, two := &http.Client{Transport: &http.Transport{}}, overHTTP2(t)
	defer one.CloseIdleConnections()
	ask := func(client *http.Client, tenant, body string) string {
		req, _ := http.NewRequest(http.MethodPost, server.URL()+"/orders", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if tenant != "" {
			req.Header.Set("X-Tenant", tenant)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", resp.ContentLength, " ", string(got))
	}
	for _, c := range []struct{ tenant, body, want string }{
		{"a", `{"id": 1}`, "201 "}, {"a", `{}`, "422 "}, {"", `{"id": 1}`, "400 "}, {"a", "{", "400 "}, {"a", "", "400 "},
	} {
		a, b := ask(one, c.tenant, c.body), ask(two, c.tenant, c.body)
		if a != b || !strings.HasPrefix(b, c.want) {
			t.Errorf("%+v:\n%s\n%s", c, a, b)
		}
	}
}
