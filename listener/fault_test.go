package listener_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

const faulty = `
- endpoint: {path: /ok, response: {body: fine}}
- endpoint: {path: "/reset/*", response: {}, fault: {type: reset}}
- endpoint: {path: "/empty/*", response: {}, fault: {type: empty}}
- endpoint: {path: "/malformed/*", response: {body: 0123456789}, fault: {type: malformed}}
- endpoint: {path: "/truncate/*", response: {body: 0123456789}, fault: {type: truncate}}
- endpoint: {path: "/slow/*", response: {body: 0123456789}, fault: {type: slow-body, bytes-per-second: 1000}}
- endpoint: {path: /truncate-none, response: {status: 204}, fault: {type: truncate}}
- endpoint: {path: /truncate-one, response: {body: a}, fault: {type: truncate}}
- endpoint: {path: /slow-none, response: {status: 204}, fault: {type: slow-body}}
- endpoint: {path: /never, response: {body: fine}, fault: {type: reset, rate: 0}}
- endpoint: {method: POST, path: "/empty/*", response: {}, fault: {type: empty}}
- endpoint: {method: POST, path: "/truncate/*", response: {body: 0123456789}, fault: {type: truncate}}
`

// askOnce sends a request over a connection of its own, because a reused one would hide the fault:
// net/http retries a GET if its connection has already served a request.
func askOnce(t *testing.T, url string) (status int, length int64, body string, err error) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.ContentLength, string(b), err
}

func TestFault_AsAGoClientSeesIt(t *testing.T) {
	server := unrecorded(t, faulty)
	for _, c := range []struct {
		path string
		body string
		is   func(error) bool
	}{
		{"/reset/1", "", func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
		{"/empty/1", "", func(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }},
		{"/malformed/1", "", func(err error) bool { return err != nil && strings.Contains(err.Error(), "malformed HTTP response") }},
		{"/truncate/1", "01234", func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"/truncate-one", "", func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"/truncate-none", "", func(err error) bool { return err != nil }}, // the error that net/http reports for half a line
		{"/slow/1", "0123456789", func(err error) bool { return err == nil }},
		{"/slow-none", "", func(err error) bool { return err == nil }},
		{"/never", "fine", func(err error) bool { return err == nil }},
	} {
		if _, _, body, err := askOnce(t, server.URL()+c.path); body != c.body || !c.is(err) {
			t.Errorf("%s: got %q, %v, want %q", c.path, body, err, c.body)
		}
	}
	if status, length, _, _ := askOnce(t, server.URL()+"/truncate/1"); status != 200 || length != 10 {
		t.Errorf("truncated: got %d with length %d, want 200 with the length of the whole body", status, length)
	}
	// Whatever happened to the other requests, this one is served.
	if status, _, body, err := askOnce(t, server.URL()+"/ok"); status != 200 || body != "fine" || err != nil {
		t.Errorf("got %d %q, %v", status, body, err)
	}
}

// toGet returns a GET request for a raw client.
func toGet(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n" }

// whatComes returns everything that arrives on a connection, without the Date headers, and the
// error that ended it.
func whatComes(conn net.Conn) (text string, err error) {
	b, err := io.ReadAll(conn)
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "Date: ") {
			text += line
		}
	}
	return text, err
}

const fine = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 4\r\n\r\nfine"

func TestFault_OnTheWire(t *testing.T) {
	server := unrecorded(t, faulty)
	const (
		head    = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n"
		noHTTP  = "\x00\x01\xff\xfethis-is-no-answer-of-HTTP\r\n\r\n"
		goOn    = "HTTP/1.1 100 Continue\r\n\r\n"
		expects = " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab"
	)
	for _, c := range []struct {
		name, sent, want string
	}{
		{"no byte", toGet("/empty/1"), ""},
		{"no byte, of a POST with a body", "POST /empty/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab", ""},
		{"nothing but that the body may come", "POST /empty/1" + expects, goOn},
		{"half a body", toGet("/truncate/1"), head + "\r\n01234"},
		{"half a body, which was asked for", "POST /truncate/1" + expects, goOn + head + "\r\n01234"},
		{"half a body, in HTTP/1.0", "GET /truncate/1 HTTP/1.0\r\n\r\n", head + "Connection: close\r\n\r\n01234"},
		{"half a body, the last of a connection", "GET /truncate/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", head + "Connection: close\r\n\r\n01234"},
		{"half a body, of an answer to another origin", "GET /truncate/1 HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n\r\n", head + "Access-Control-Allow-Origin: *\r\n\r\n01234"},
		{"no HTTP", toGet("/malformed/1"), noHTTP},
		{"no HTTP, of a HEAD", "HEAD /malformed/1 HTTP/1.1\r\nHost: a\r\n\r\n", noHTTP},
		{"all in a row", toGet("/ok") + toGet("/ok") + toGet("/malformed/1") + toGet("/ok"), fine + fine + noHTTP},
		{"a slow body between others", toGet("/ok") + toGet("/slow/1") + toGet("/ok") + toGet("/empty/1"), fine + head + "\r\n0123456789" + fine},
		{"the head of a slow body", "HEAD /slow/1 HTTP/1.1\r\nHost: a\r\n\r\n" + toGet("/empty/1"), head + "\r\n"},
		{"more than is read", toGet("/empty/1") + strings.Repeat(toGet("/ok"), 10000), ""},
	} {
		if got, err := whatComes(dial(t, server, c.sent)); got != c.want || err != nil {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
	for _, path := range []string{"HEAD /truncate/1", "GET /truncate-none"} {
		got, err := whatComes(dial(t, server, path+" HTTP/1.1\r\nHost: a\r\n\r\n"))
		if !strings.HasPrefix(got, "HTTP/1") || strings.Contains(got, "\r") || err != nil {
			t.Errorf("%s: got %q, %v, want half of the status line", path, got, err)
		}
	}
}

// A reset arrives as a reset, not as the end of the data, which a client could mistake for the end
// of an answer.
func TestFault_ResetIsAReset(t *testing.T) {
	server := unrecorded(t, faulty)
	for _, sent := range []string{
		toGet("/reset/1"), "GET /reset/1 HTTP/1.0\r\n\r\n", "HEAD /reset/1 HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		if got, err := whatComes(dial(t, server, sent)); got != "" || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q: got %q, %v, want a reset and nothing before it", sent, got, err)
		}
	}
	conn := dial(t, server, toGet("/ok"))
	if got := response(t, conn); got != "fine" {
		t.Errorf("got %q", got)
	}
	if _, err := io.WriteString(conn, toGet("/reset/1")); err != nil {
		t.Fatal(err)
	}
	if got, err := whatComes(conn); got != "" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("as the second request: got %q, %v, want a reset", got, err)
	}
}

// A request with a fault counts as served: a shutdown does not count it as cut off, even if the
// client has not noticed the fault.
func TestFault_IsNotCutOff(t *testing.T) {
	for _, path := range []string{"/reset/1", "/empty/1", "/malformed/1", "/truncate/1", "/truncate-none"} {
		server := start(t, config.Parse("m.yml", []byte(faulty)), listener.Options{})
		conn := dial(t, server, toGet(path))
		_, _ = whatComes(conn) // other tests check the answer; conn stays open
		if err := server.Close(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A shutdown ends a slow body, whose request then counts as cut off.
func TestFault_SlowBodyEndsWithTheServer(t *testing.T) {
	nothingLeft(t)
	server := start(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /, response: {body: 0123456789}, fault: {type: slow-body, bytes-per-second: 1}}
`)), listener.Options{})
	conn := dial(t, server, toGet("/"))
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err == nil || !strings.HasPrefix(err.Error(), "1 request was cut off") {
		t.Errorf("got %v, want one request cut off", err)
	}
}

// A webhook is sent even if the answer is lost, because the operation was carried out.
func TestFault_SendsTheWebhook(t *testing.T) {
	for _, kind := range []string{"reset", "empty", "malformed", "truncate", "slow-body"} {
		came := make(chan string, 1)
		target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came <- r.URL.Path }))
		server := unrecorded(t, fmt.Sprintf(`
- endpoint: {path: /, response: {body: 0123}, fault: {type: %s}, webhook: {method: POST, url: "%s/%s", sleep-time: 0}}
`, kind, target.URL, kind))
		_, _, _, _ = askOnce(t, server.URL())
		if got := <-came; got != "/"+kind {
			t.Errorf("got %s, want /%s", got, kind)
		}
		target.Close()
	}
}

// safe is a buffer that may be written to while it is read.
type safe struct {
	mu  sync.Mutex // guards the buffer
	b   bytes.Buffer
	got chan struct{} // receives one value for each line
}

func (s *safe) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got <- struct{}{}
	return s.b.Write(b)
}

func (s *safe) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.b.String(), text)
}

func TestFault_IsInTheAccessLog(t *testing.T) {
	for path, want := range map[string]string{
		"/reset/1": "fault=reset", "/empty/1": "fault=empty", "/malformed/1": "fault=malformed",
		"/truncate/1": "bytes=10 ", "/slow/1": "bytes=10 ",
	} {
		logged := &safe{got: make(chan struct{}, 100)}
		server := start(t, config.Parse("m.yml", []byte(faulty)), listener.Options{AccessLog: true, Logger: slog.New(slog.NewTextHandler(logged, nil))})
		conn := dial(t, server, toGet(path))
		<-logged.got
		logged.mu.Lock()
		line := logged.b.String()
		logged.mu.Unlock()
		if !strings.Contains(line, want) || !strings.Contains(line, "status=200") || !strings.Contains(line, "fault=") {
			t.Errorf("%s: got %s, want %s and a fault", path, line, want)
		}
		_, _ = whatComes(&limited{Conn: conn})
	}
	// A request that may have a fault but has none is not logged as having one, even on the same
	// connection.
	logged := &safe{got: make(chan struct{}, 100)}
	server := start(t, config.Parse("m.yml", []byte(faulty)), listener.Options{AccessLog: true, Logger: slog.New(slog.NewTextHandler(logged, nil))})
	_, _ = whatComes(dial(t, server, toGet("/slow/1")+"GET /never HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
	if got := logged.b.String(); strings.Count(got, "fault=") != 1 || strings.Count(got, "status=200") != 2 {
		t.Errorf("got %s, want one line with a fault and one without", got)
	}
}

// limited is a connection that can be read once.
type limited struct {
	net.Conn
	read bool
}

func (l *limited) Read(b []byte) (int, error) {
	if l.read {
		return 0, io.EOF
	}
	l.read = true
	return l.Conn.Read(b)
}

// The number of requests with a fault roughly matches its rate.
func TestFault_AtARate(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /, response: {body: fine}, fault: {type: empty, rate: 0.2}}
`)), listener.Options{})
	const requests = 1000
	faults := 0
	for range requests {
		conn := dial(t, server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		if got, _ := whatComes(conn); got == "" {
			faults++
		}
		_ = conn.Close()
	}
	// Six standard deviations of the binomial distribution are 76.
	if faults < 200-76 || faults > 200+76 {
		t.Errorf("%d of %d requests had a fault, want about 200", faults, requests)
	}
}

// With a seed, which requests have a fault does not depend on the random numbers that answers draw.
// The client may influence how many numbers are drawn.
func TestFault_OfASeedDoesNotDependOnTheReply(t *testing.T) {
	seed := uint64(1)
	var whole [2]string
	for i, path := range []string{"/", "/?x=1"} {
		server := start(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /, response: {body: "{% if query-params.x %}{{random}}{% endif %}"}, fault: {type: empty, rate: 0.5}}
`)), listener.Options{Seed: &seed})
		for range 30 {
			_, _, _, err := askOnce(t, server.URL()+path)
			whole[i] += fmt.Sprintf(" %t", err == nil)
		}
	}
	if whole[0] != whole[1] {
		t.Errorf("got%s, and with a random answer%s", whole[0], whole[1])
	}
}

// A fault that a reload adds spoils only its own answer, whether the connection was waiting for
// requests during the reload, or its requests had arrived together before.
func TestFault_AddedByAReload(t *testing.T) {
	asked, goes := make(chan struct{}), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-goes
		_, _ = io.WriteString(w, `"far"`)
	}))
	defer remote.Close()
	before := fmt.Sprintf(`
- endpoint: {path: /far, response: {external-body: {provider: json, path: %q}}}
- endpoint: {path: /near, response: {body: "{{path}}"}}
- endpoint: {path: /spoilt, response: {body: "{{path}}"}`, remote.URL)
	server := start(t, config.Parse("m.yml", []byte(before+"}")), listener.Options{Record: &record.Options{}})
	var in [2]*bufio.Reader
	var conns [2]net.Conn
	expect := func(of int, bodies ...string) {
		t.Helper()
		for _, want := range bodies {
			resp, err := http.ReadResponse(in[of], nil)
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != want {
				t.Fatalf("got %q, %v, want %q", b, err, want)
			}
		}
	}
	for i, first := range []string{toGet("/near"), toGet("/far") + toGet("/spoilt")} {
		conns[i] = dial(t, server, first)
		in[i] = bufio.NewReader(conns[i])
	}
	expect(0, "/near")
	<-asked
	if err := server.Apply(config.Parse("m.yml", []byte(before+", fault: {type: reset}}"))); err != nil {
		t.Fatal(err)
	}
	close(goes)
	expect(1, `"far"`)
	if _, err := io.WriteString(conns[0], toGet("/near")+toGet("/spoilt")); err != nil {
		t.Fatal(err)
	}
	expect(0, "/near")
	for i := range conns {
		if _, err := in[i].ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want a reset", err)
		}
	}
	for _, e := range server.Counts().Endpoints {
		if e.Endpoint == "GET /spoilt" && (e.Requests != 2 || e.Faults["reset"] != 2) {
			t.Errorf("counted %d requests and the faults %v, want 2 and 2 resets", e.Requests, e.Faults)
		}
	}
}
