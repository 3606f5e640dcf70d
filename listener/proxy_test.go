package listener_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// The other keys of an endpoint with a proxy take effect: its own answers, headers, minimum
// latency, faults, webhooks and limits.
func TestProxy_WithOtherKeys(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	hooks, held := make(chan string, 1), make(chan struct{})
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hook" {
			body, _ := io.ReadAll(r.Body)
			hooks <- string(body)
			return
		}
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/held" {
			<-held
		}
		w.Header().Set("X-From", "upstream")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"id": 7, "url": %q, "for": %q}`, r.URL, r.Header.Get("X-Forwarded-For"))
	}))
	defer real.Close()
	times := func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return asked[path]
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there.json"), []byte(`"own file"`), 0o600); err != nil {
		t.Fatal(err)
	}
	file := harness.WriteFile(t, dir, "a.yml", strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- data: {name: users, rows: [{id: 1, name: Ann}]}
- endpoint: {path: /users/:id, find: {user: {in: users, key: path-params.id}}, response: {body: "own {{user.name}}", proxy: {to: real, when: missing}}}
- endpoint: {path: /files/:name, response: {external-body: {provider: json, path: "{{path-params.name}}"}, proxy: {to: real, when: missing}}}
- endpoint: {path: /forwarded, response: {proxy: {to: real, forwarded: true}}}
- endpoint: {path: /moved, response: {headers: {X-From: own}, proxy: {to: real, path: "/elsewhere?q={{query-params.q}}"}}}
- endpoint: {path: /late, latency: {min: 60ms}, response: {proxy: real}}
- endpoint: {path: /cut, fault: {type: truncate}, response: {proxy: real}}
- endpoint: {path: /slow, fault: {type: slow-body, bytes-per-second: 100000}, response: {proxy: real}}
- endpoint: {path: /hooked, webhook: {url: "URL/hook", sleep-time: 0s, body: "{{response.status}} {{response.body.id}} {{response.headers.X-From}}"}, response: {proxy: real}}
- endpoint: {path: /limited, rate-limit: {window: 1h, max-requests: 1}, response: {proxy: real}}
- endpoint: {path: /held, capacity: {concurrent: 1}, response: {proxy: real}}
- endpoint: {path: /some, if: query-params.a = 1, response: {proxy: real}}
- endpoint: {path: /mixed, select: sequence, responses: [{proxy: real}, {status: 503, body: own}]}
`, "URL", real.URL))
	server := listenertest.Start(t, config.Load(file), listener.Options{})
	for _, c := range []struct {
		target string
		status int
		body   string // the body contains it
		from   string
	}{
		{"/users/1", 200, "own Ann", ""},
		{"/users/2", 202, `"url": "/users/2"`, "upstream"},
		{"/files/there.json", 200, `"own file"`, ""},
		{"/files/gone.json", 202, `"url": "/files/gone.json"`, "upstream"},
		{"/forwarded", 202, `"for": "127.0.0.1"`, "upstream"},
		{"/moved?q=a%26b", 202, `"url": "/elsewhere?q=a%26b"`, "own"},
		{"/limited", 202, `"id": 7`, "upstream"},
		{"/limited", 429, "", ""},
		{"/some?a=1", 202, `"id": 7`, "upstream"},
		{"/some?a=2", 404, "", ""},
		{"/mixed", 202, `"id": 7`, "upstream"},
		{"/mixed", 503, "own", ""},
		{"/hooked", 202, `"id": 7`, "upstream"},
	} {
		resp, body := ask(t, "GET", server.URL()+c.target, "")
		if resp.StatusCode != c.status || !strings.Contains(body, c.body) || resp.Header.Get("X-From") != c.from {
			t.Errorf("%s: %d %q, X-From %q; want %d %q, %q", c.target, resp.StatusCode, body, resp.Header.Get("X-From"), c.status, c.body, c.from)
		}
	}
	if hook := <-hooks; hook != `202 7 "upstream"` {
		t.Errorf("the webhook has %q", hook)
	}
	for path, want := range map[string]int{"/users/1": 0, "/users/2": 1, "/files/there.json": 0, "/limited": 1, "/some": 1, "/mixed": 1} {
		if got := times(path); got != want {
			t.Errorf("%s was asked for %d times, want %d", path, got, want)
		}
	}
	begun := time.Now()
	if resp, _ := ask(t, "GET", server.URL()+"/late", ""); resp.StatusCode != 202 || time.Since(begun) < 60*time.Millisecond {
		t.Errorf("%d after %v, want at least 60ms", resp.StatusCode, time.Since(begun))
	}
	resp, err := http.Get(server.URL() + "/cut")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || times("/cut") != 1 {
		t.Errorf("a truncated answer: %v; asked for %d times", err, times("/cut"))
	}
	_, whole := ask(t, "GET", server.URL()+"/slow", "")
	for name, client := range map[string]*http.Client{"http/1.1": http.DefaultClient, "h2": overHTTP2(t)} {
		if resp, err := client.Head(server.URL() + "/slow"); err != nil || resp.ContentLength != int64(len(whole)) {
			t.Errorf("%s: HEAD has a length of %+v, want %d: %v", name, resp, len(whole), err)
		}
	}
	first := make(chan int, 1)
	go func() {
		resp, err := http.Get(server.URL() + "/held")
		if err != nil {
			first <- 0
			return
		}
		resp.Body.Close()
		first <- resp.StatusCode
	}()
	harness.Until(t, "the upstream is asked", func() bool { return times("/held") == 1 })
	second, _ := ask(t, "GET", server.URL()+"/held", "")
	close(held)
	if status := <-first; status != 202 || second.StatusCode != 503 || times("/held") != 1 {
		t.Errorf("%d with one place, and %d without; asked for %d times", status, second.StatusCode, times("/held"))
	}
}

// However clients try to make the upstream see a different request from the server, the upstream
// never receives a request that the server did not see, or a header that the client did not send as
// one.
func TestProxy_NothingIsSmuggled(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	o := newOrigin(t, map[string]string{"/a": ok, "/smuggled": ok, "/after": ok, "/made": ok, "/rest": ok})
	spec := config.Parse("a.yml", fmt.Appendf(nil, `
- upstream: {name: real, url: "http://%s", headers: {X-Made: "{{query-params.q}}"}}
- endpoint: {path: /made, response: {proxy: {to: real, path: "/made?q={{query-params.q}}"}}}
- endpoint: {method: any, path: "/*rest", response: {proxy: real}}
`, o.address))
	server := listenertest.Start(t, spec, listener.Options{NoCORS: true})
	const (
		smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Injected: 1\r\n\r\n"
		after    = "GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	)
	post := func(body string, lines ...string) string {
		return "POST /a HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n" + body
	}
	length := func(body string) string { return fmt.Sprint("Content-Length: ", len(body)) }
	sees := func(send string) []string {
		t.Helper()
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patient))
		go func() { _, _ = io.WriteString(conn, send+after) }() // the server may close before it has read everything
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%.100q: %v", send, err)
		}
		return o.taken()
	}
	if got := sees(smuggled); len(got) != 2 || !strings.HasPrefix(got[0], "GET /smuggled") || !strings.Contains(got[0], "X-Injected") {
		t.Fatalf("a request that is sent undisguised is not seen: %q", got)
	}
	hidden := "0\r\n\r\n" + smuggled
	for name, send := range map[string]string{
		"CL.TE":                                 post(hidden, length(hidden), "Transfer-Encoding: chunked"),
		"TE.CL":                                 post("5c\r\n"+smuggled+"\r\n0\r\n\r\n", "Content-Length: 4", "Transfer-Encoding: chunked"),
		"TE.TE, an unknown coding":              post(hidden, length(hidden), "Transfer-Encoding: xchunked"),
		"TE.TE, two codings":                    post(hidden, length(hidden), "Transfer-Encoding: chunked, identity"),
		"TE.TE, twice":                          post(hidden, length(hidden), "Transfer-Encoding: identity", "Transfer-Encoding: chunked"),
		"TE.TE, a blank before the colon":       post(hidden, length(hidden), "Transfer-Encoding : chunked"),
		"TE.TE, a vertical tab":                 post(hidden, length(hidden), "Transfer-Encoding: \vchunked"),
		"TE.TE, folded":                         post(hidden, length(hidden), "Transfer-Encoding:", " chunked"),
		"TE.TE, after a bare LF":                post(hidden, length(hidden)+"\nTransfer-Encoding: chunked"),
		"TE.TE, after a bare CR":                post(hidden, length(hidden), "X: a\rTransfer-Encoding: chunked"),
		"two lengths":                           post(smuggled, "Content-Length: 0", length(smuggled)),
		"a list of lengths":                     post(smuggled, "Content-Length: 0, "+fmt.Sprint(len(smuggled))),
		"a length with a sign":                  post(smuggled, "Content-Length: +0"),
		"a length that Connection removes":      post(smuggled, "Connection: Content-Length", length(smuggled)),
		"a coding that Connection removes":      post(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled), "Connection: Transfer-Encoding", "Transfer-Encoding: chunked"),
		"a body that is a request":              post(smuggled, length(smuggled)),
		"a chunk that is a request":             post(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled), "Transfer-Encoding: chunked"),
		"trailers that are a request":           post("0\r\nX-Injected: 1\r\n\r\n", "Transfer-Encoding: chunked"),
		"a chunk size that overflows":           post("10000000000000000\r\n"+hidden, "Transfer-Encoding: chunked"),
		"a GET with a body":                     "GET /a HTTP/1.1\r\nHost: a\r\n" + length(smuggled) + "\r\n\r\n" + smuggled,
		"a line end in the target":              "GET /a%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a blank in the target":                 "GET /a HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a line end in a value of the query":    "GET /a?q=x%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: a\r\n\r\n",
		"a line end in a path that is made":     "GET /made?q=x%20HTTP/1.1%0d%0aX-Injected:%201%0d%0a%0d%0aGET%20/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
		"a bare LF in a value":                  "GET /a HTTP/1.1\r\nHost: a\r\nX: y\nX-Injected: 1\r\n\r\n",
		"a bare CR in a value":                  "GET /a HTTP/1.1\r\nHost: a\r\nX: y\rX-Injected: 1\r\n\r\n",
		"a Host with a line end":                "GET http://a%0d%0aX-Injected:1/a HTTP/1.1\r\nHost: a\r\n\r\n",
		"Expect, and a body that is not waited": post(smuggled, "Expect: 100-continue", length(smuggled)),
	} {
		for _, request := range sees(send) {
			head, _, _ := strings.Cut(request, "] ") // the body follows it
			if strings.HasPrefix(head, "GET /smuggled") || strings.Contains(head, "[X-Injected: ") || strings.Contains(head, " X-Injected: ") {
				t.Errorf("%s: the upstream sees %q", name, request)
			}
		}
	}
}

// An answer that is passed on only because a change is not possible is passed on as any other: all of
// its body, and while other requests wait for the upstream.
func TestProxy_InsteadOfAChange(t *testing.T) {
	body := strings.Repeat("0123456789", 20_000)
	reached, release := make(chan struct{}, 10), make(chan struct{})
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached <- struct{}{}
		<-release
		_ = http.NewResponseController(w).Flush() // so that the body is chunked
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(real.Close)
	spec := config.Parse("a.yml", fmt.Appendf(nil, `
- upstream: {name: real, url: %q, connections: 1}
- data: {name: orders, rows: [{id: 1}]}
- endpoint: {path: "/orders/:id", do: [{merge: {in: orders, key: path-params.id, set: {n: 1}, else: {proxy: real}}}], response: {body: own}}
`, real.URL))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	server := listenertest.Start(t, spec, listener.Options{})
	got := make(chan string, 2)
	for range cap(got) { // the second one waits for the connection of the first
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			_, _ = io.WriteString(conn, "GET /orders/7 HTTP/1.1\r\nHost: a\r\n\r\n") // reading fails too
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				got <- err.Error()
				return
			}
			text, err := io.ReadAll(resp.Body)
			got <- fmt.Sprint(string(text), err, resp.Header.Values("Date")[1:])
		}()
	}
	<-reached
	if resp, text := ask(t, "GET", server.URL()+"/orders/1", ""); resp.StatusCode != 200 || text != "own" {
		t.Errorf("the declared answer: %d %q", resp.StatusCode, text)
	}
	close(release)
	for range cap(got) {
		if text := <-got; text != body+"<nil> []" {
			t.Errorf("got %d bytes that end with %q", len(text), text[max(0, len(text)-100):])
		}
	}
}

// If the server begins to stop while an answer is passed on that did not announce the end of the
// connection, the next request is still answered, and its answer announces the end.
func TestProxy_TheServerStopsWhileAResponseArrives(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	server := proxied(t, "", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin ")
		if r.URL.Path == "/first" {
			_ = http.NewResponseController(w).Flush()
			close(reached)
			<-release
		}
		_, _ = io.WriteString(w, "end")
	})
	conn := dial(t, server, toGet("/first")+toGet("/second"))
	<-reached
	in := bufio.NewReader(conn)
	first, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	for !errors.Is(server.Apply(server.Spec()), listener.ErrStopped) { // until the server has begun to stop
		runtime.Gosched()
	}
	close(release)
	for i, resp := range []*http.Response{first, nil} {
		if resp == nil {
			if resp, err = http.ReadResponse(in, nil); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(resp.Body)
		if string(text) != "begin end" || err != nil || resp.Close != (i == 1) {
			t.Errorf("answer %d: %q, %v, closes %v", i+1, text, err, resp.Close)
		}
	}
	_ = conn.Close()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// --max-response limits what is kept as a whole: remote bodies, and answers of a known length for a fault or
// webhook. Other answers are passed on, whatever their size.
func TestProxy_MaxResponseLimitsWhatIsKeptWhole(t *testing.T) {
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		if w.Header().Set("Content-Length", strconv.Itoa(size)); r.URL.Query().Has("flush") {
			w.Header().Del("Content-Length")
			_ = http.NewResponseController(w).Flush() // the length is unknown then
		}
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	}))
	defer real.Close()
	text := `
- upstream: {name: real, url: "URL"}
- endpoint: {path: /plain, response: {proxy: real}}
- endpoint: {path: /hook, webhook: {url: "URL/told", sleep-time: 0s, body: "{{response.body}}"}, response: {proxy: real}}
- endpoint: {path: /fault, fault: {type: slow-body, bytes-per-second: 1000000}, response: {proxy: real}}
- endpoint: {path: /remote, response: {external-body: {provider: json, path: "URL/?size={{query-params.size}}&{{query-params.how}}"}}}
`
	server := started(t, config.Parse("m.yml", []byte(strings.ReplaceAll(text, "URL", real.URL))), listener.Options{MaxResponse: 100})
	for how, whole := range map[string]int{"a": 502, "flush": 200} {
		for path, above := range map[string]int{"/plain": 200, "/hook": whole, "/fault": whole, "/remote": 502} {
			for size, want := range map[int]int{100: 200, 101: above, 100_000: above} {
				resp, body := ask(t, "GET", fmt.Sprintf("%s%s?size=%d&how=%s&%s", server.URL(), path, size, how, how), "")
				if resp.StatusCode != want || resp.StatusCode == 200 && len(body) != size {
					t.Errorf("%s of %d bytes (%s): %d with %d bytes, want %d", path, size, how, resp.StatusCode, len(body), want)
				}
			}
		}
	}
}

// Webhooks read the body of an upstream's answer without its content encodings, and recorded
// answers likewise; the client gets it as it came. If that is not possible, the log says why.
func TestProxy_WebhooksReadEncodedBodies(t *testing.T) {
	const body = `{"id": 7}`
	var zipped, twice, deflated, large bytes.Buffer
	pack := func(to io.WriteCloser, content []byte) {
		_, _ = to.Write(content) // a buffer never fails
		_ = to.Close()
	}
	pack(gzip.NewWriter(&zipped), []byte(body))
	pack(gzip.NewWriter(&twice), zipped.Bytes())
	pack(zlib.NewWriter(&deflated), []byte(body))
	pack(gzip.NewWriter(&large), make([]byte, 2<<20))
	bodies := map[string][]byte{
		"": []byte(body), "identity": []byte(body), "gzip": zipped.Bytes(), "X-GZIP": zipped.Bytes(), "gzip, gzip": twice.Bytes(),
		"deflate": deflated.Bytes(), "br": []byte("\v\x04\x80" + body + "\x03"), "zstd": []byte("\x28\xb5\x2f\xfd\x20\x09\x49\x00\x00" + body),
		"compress": []byte(body), "damaged": []byte(body),
	}
	hooks := make(chan string, 1)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hook" {
			body, _ := io.ReadAll(r.Body)
			hooks <- string(body)
			return
		}
		coding := r.URL.Query().Get("coding")
		response := bodies[coding]
		switch coding {
		case "damaged":
			coding = "gzip"
		case "large":
			coding, response = "gzip", large.Bytes()
		}
		w.Header().Set("Content-Encoding", coding)
		_, _ = w.Write(response)
	}))
	defer real.Close()
	text := `
- upstream: {name: real, url: "` + real.URL + `"%s}
- endpoint: {path: /, webhook: {url: "` + real.URL + `/hook", sleep-time: 0s, body: "{{response.body.id}} {{response.body}}"}, response: {proxy: real}}
`
	for _, record := range []string{"", fmt.Sprintf(", record: {to: %q, mode: missing}", t.TempDir())} {
		var log harness.Log
		server := started(t, config.Parse("m.yml", fmt.Appendf(nil, text, record)), listener.Options{MaxResponse: 1 << 20, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 2 { // the second answers are recorded ones
			for coding, sent := range bodies {
				want, wrong := `7 {"id": 7}`, coding == "compress" || coding == "damaged"
				if wrong {
					want = `null ""`
				}
				_, got := ask(t, "GET", server.URL()+"/?coding="+url.QueryEscape(coding), "", "Accept-Encoding", "any")
				if hook := <-hooks; hook != want || got != string(sent) && record == "" {
					t.Errorf("%q%s: the webhook has %q, want %q; the client got %q", coding, record, hook, want, got)
				}
			}
		}
		if _, got := ask(t, "GET", server.URL()+"/?coding=large", "", "Accept-Encoding", "any"); <-hooks != `null ""` {
			t.Errorf("a webhook has a body above the limit; the client got %d bytes", len(got))
		}
		for _, why := range []string{"no response.body: it cannot be decoded", "unknown; expected gzip", "unexpected EOF", "more than 1 MiB"} {
			if !strings.Contains(log.String(), why) {
				t.Errorf("the log does not say %q: %s", why, log.String())
			}
		}
	}
}
