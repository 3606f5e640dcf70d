package listener_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mockserver/config"
	form "mockserver/internal/recording"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// recordedIn returns the lines of all the files in a directory.
func recordedIn(t *testing.T, dir string) (lines []form.Line) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.zst"))
	slices.Sort(names)
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		head, broken, err := form.Read(f, func(l *form.Line) error {
			lines = append(lines, *l)
			return nil
		})
		_ = f.Close()
		if err := errors.Join(broken, err); err != nil || head.Mockserver != "recording" {
			t.Errorf("%s: %+v %v", name, head, err)
		}
	}
	return lines
}

// proxied starts a server in front of a handler.
func proxied(t *testing.T, more string, to http.HandlerFunc) *listener.Server {
	t.Helper()
	real := httptest.NewServer(to)
	t.Cleanup(real.Close)
	spec := config.Parse("a.yml", fmt.Appendf(nil, "- upstream: {name: real, url: \"%s\"%s}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", real.URL, more))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	return listenertest.Start(t, spec, listener.Options{})
}

func ask(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Add(pair[0], pair[1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func TestRecording_SecretsAreInNoFile(t *testing.T) {
	dir := t.TempDir()
	secrets := []string{"sessionsecret", "bearersecret", "cardsecret", "querysecret", "formsecret", "zippedsecret", "nestedsecret", "keysecret"}
	server := proxied(t, `, record: {to: "`+dir+`", redact: {headers: [X-Mine], json: [card.number, token, list.secret], query: [key]}}`, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "sid=sessionsecret; Path=/")
		w.Header().Set("Location", "/next?key=querysecret&a=b")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"token": "bearersecret", "card": {"number": "cardsecret", "name": "Ada"}, "list": [{"secret": "nestedsecret"}, {"secret": 7}], "open": 1}`)
	})
	ask(t, "POST", server.URL()+"/a?key=querysecret&b=c", `{"card":{"number":"cardsecret"},"n":1}`, "Authorization", "Bearer bearersecret", "Cookie", "sid=sessionsecret; x=y",
		"X-Mine", "keysecret", "Content-Type", "application/json", "Referer", "http://a/?key=querysecret")
	ask(t, "POST", server.URL()+"/b", "key=formsecret&z=1", "Content-Type", "application/x-www-form-urlencoded")
	ask(t, "POST", server.URL()+"/c", `{"token": "zippedsecret", broken`, "Content-Type", "application/json")
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	lines := recordedIn(t, dir)
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	var all []byte
	for i := range lines {
		all = lines[i].Append(all)
	}
	for _, s := range secrets {
		if bytes.Contains(all, []byte(s)) {
			t.Errorf("%s is in the recording: %s", s, all)
		}
	}
	names, _ := filepath.Glob(dir + "/*")
	for _, name := range names { // the files are also searched without unpacking them, in case something is not packed
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if bytes.Contains(raw, []byte(s)) {
				t.Errorf("%s is in %s", s, name)
			}
		}
	}
	// The same secret is always replaced with the same value, so that sessions stay recognizable.
	header := func(m form.Message, name string) string {
		for _, h := range m.Headers {
			if strings.EqualFold(h[0], name) {
				return h[1]
			}
		}
		return ""
	}
	l := lines[0]
	token := strings.TrimPrefix(header(l.Request, "Authorization"), "Bearer ")
	if !strings.HasPrefix(token, "r_") || len(token) != 18 || !strings.Contains(l.Response.Body, `"token":"`+token+`"`) {
		t.Errorf("the token is %s in the request, and the answer is %s", token, l.Response.Body)
	}
	session, _, _ := strings.Cut(header(l.Response, "Set-Cookie"), ";")
	if !strings.HasPrefix(session, "sid=r_") || !strings.HasPrefix(header(l.Request, "Cookie"), session+"; x=r_") {
		t.Errorf("the cookie is %q, but was %q", header(l.Request, "Cookie"), session)
	}
	if !strings.Contains(l.Response.Body, `"name":"Ada"`) || !strings.Contains(l.Response.Body, `"open":1`) || !strings.HasSuffix(l.URL, "&b=c") {
		t.Errorf("more than the secrets was removed: %s, %s", l.URL, l.Response.Body)
	}
	if lines[2].Request.Omitted != form.OmittedRedact || lines[2].Request.Size == 0 {
		t.Errorf("%+v", lines[2].Request)
	}
}

// Each of several thousand exchanges is in the files once, with its status, body and times.
func TestRecording_NothingIsLost(t *testing.T) {
	dir := t.TempDir()
	server := proxied(t, `, record: {to: "`+dir+`", sample: 2, bodies: 100}`, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/large" {
			body = bytes.Repeat([]byte("large"), 40_000)
		}
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(body)
	})
	const workers, each = 8, 250
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				path := []string{"/echo", "/bad", "/large"}[i%3]
				resp, body := ask(t, "POST", fmt.Sprintf("%s%s?n=%d-%d", server.URL(), path, w, i), fmt.Sprint("body ", w, i))
				if path == "/echo" && body != fmt.Sprint("body ", w, i) || path == "/large" && len(body) != 200_000 || path == "/bad" && resp.StatusCode != 503 {
					t.Errorf("%s: %d %.40q", path, resp.StatusCode, body)
				}
			}
		})
	}
	all.Wait()
	if got := server.Control().Recordings().List(); len(got) != 1 || !got[0].Running || got[0].Dropped != 0 {
		t.Errorf("%+v", got)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	lines := recordedIn(t, dir)
	seen := map[string]int{}
	bodies, hashes := 0, 0
	for _, l := range lines {
		seen[l.URL]++
		if l.Method != "POST" || l.First <= 0 || l.Last < l.First || l.UnderWay < 1 || l.Connection == 0 {
			t.Fatalf("%+v", l)
		}
		switch {
		case l.Response.Omitted == form.OmittedSample && l.Request.Omitted == form.OmittedSample && l.Response.Size > 0:
		case l.Response.Omitted == form.OmittedSize && len(l.Response.SHA256) == 64 && l.Response.Size == 200_000 && strings.Contains(l.URL, "/large"):
			hashes++
		case l.Request.Body == l.Response.Body && strings.HasPrefix(l.Request.Body, "body "):
			bodies++
		default:
			t.Fatalf("%+v", l)
		}
	}
	if len(seen) != workers*each || len(lines) != workers*each || bodies+hashes != workers*each/2 || hashes == 0 {
		t.Errorf("%d lines of %d requests, %d with bodies and %d with hashes, of %d", len(lines), len(seen), bodies, hashes, workers*each)
	}
}

// Recorded answers are served, by this process and the next one; all other requests go to the
// upstream.
func TestRecording_Missing(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	handler := func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("X-Asked", fmt.Sprint(asked))
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}
	record := `, record: {to: "` + dir + `", mode: missing}`
	server := proxied(t, record, handler)
	_, first := ask(t, "POST", server.URL()+"/a?b=c", "x")
	unencoded := func(server *listener.Server) string {
		return response(t, dial(t, server, "GET /a|b^\\c?d=\"<e>|\" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
	}
	if _, other := ask(t, "POST", server.URL()+"/a?b=c", "y"); other == first || asked != 2 {
		t.Errorf("%q, %d", other, asked)
	}
	if got := unencoded(server); !strings.HasPrefix(got, "GET /a%7Cb") || asked != 3 {
		t.Errorf("%q, asked %d times", got, asked)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	server = proxied(t, record, handler)
	resp, again := ask(t, "POST", server.URL()+"/a?b=c", "x")
	if again != first || asked != 3 || resp.Header.Get("X-Asked") != "1" || server.Control().Recordings().List()[0].Served != 1 {
		t.Errorf("%q, want %q; asked %d times", again, first, asked)
	}
	if got := unencoded(server); !strings.HasPrefix(got, "GET /a%7Cb") || asked != 3 {
		t.Errorf("a path with characters that a URL may not contain: %q, asked %d times", got, asked)
	}
	if _, third := ask(t, "GET", server.URL()+"/new", ""); third != "GET /new " || asked != 4 {
		t.Errorf("%q, %d", third, asked)
	}
}

// Each of 50 requests that 400 clients send at once, and then again, reaches the upstream once. After
// a failure it is passed on again.
func TestRecording_MissingAsksOnce(t *testing.T) {
	const clients, distinct = 400, 50
	var asked [distinct]atomic.Int32
	var all sync.WaitGroup // until each request has arrived, none is answered
	all.Add(distinct)
	server := proxied(t, `, record: {to: "`+t.TempDir()+`", mode: missing}`, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var i int
		_, _ = fmt.Sscan(string(body), &i)
		n := asked[i].Add(1)
		if n == 1 {
			all.Done()
		}
		all.Wait()
		if i == 0 && n == 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(append([]byte("answer to "), body...))
	})
	var failed atomic.Int32
	var asking sync.WaitGroup
	for i := range clients {
		asking.Go(func() {
			for range 2 {
				resp, got := ask(t, "POST", server.URL()+"/a", fmt.Sprint(i%distinct))
				switch {
				case resp.StatusCode == 502 && i%distinct == 0:
					failed.Add(1)
				case resp.StatusCode != 200 || got != fmt.Sprint("answer to ", i%distinct):
					t.Errorf("%d: %d %s", i, resp.StatusCode, got)
				}
			}
		})
	}
	asking.Wait()
	for i := range asked {
		want := int32(1)
		if i == 0 {
			want = 2 // the first one failed
		}
		if n := asked[i].Load(); n != want {
			t.Errorf("%d was asked %d times", i, n)
		}
	}
	if s := server.Control().Recordings().List()[0]; failed.Load() != 1 || s.Served != 2*clients-distinct-1 {
		t.Errorf("%d requests failed; %+v", failed.Load(), s)
	}
}

// A request does not wait for the answer to an equal one if that answer is not kept, or has no end.
func TestRecording_MissingDoesNotWaitInVain(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, c := range []struct{ name, record, header, value string }{
		{"a length over the limit", "bodies: 100", "Content-Length", fmt.Sprint(size)},
		{"more than the limit", "bodies: 100", "A", "b"},
		{"an event stream", "bodies: 1KiB", "Content-Type", "text/event-stream; charset=utf-8"},
		{"a condition", "if: method = GET", "A", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			both := make(chan struct{})
			server := proxied(t, `, record: {to: "`+t.TempDir()+`", mode: missing, `+c.record+`}`, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(c.header, c.value)
				_, _ = io.WriteString(w, strings.Repeat("x", 150))
				_ = http.NewResponseController(w).Flush()
				if asked.Add(1) == 2 {
					close(both)
				}
				<-both
				_, _ = io.WriteString(w, strings.Repeat("x", size-150))
			})
			var asking sync.WaitGroup
			for range 2 {
				asking.Go(func() {
					if resp, got := ask(t, "POST", server.URL()+"/a", ""); resp.StatusCode != 200 || len(got) != size {
						t.Errorf("%d, %d bytes", resp.StatusCode, len(got))
					}
				})
			}
			asking.Wait()
		})
	}
}

// A client that leaves lets equal requests go on: the next one is passed on if its own was.
func TestRecording_MissingClientLeaves(t *testing.T) {
	var asked atomic.Int32
	arrived := make(chan struct{}, 10)
	server := proxied(t, `, record: {to: "`+t.TempDir()+`", mode: missing}`, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		arrived <- struct{}{}
		if n == 1 {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "x")
	})
	left, leave := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		req, _ := http.NewRequestWithContext(left, "GET", server.URL()+"/a", nil)
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
			t.Error("the first request was answered")
		}
	})
	<-arrived
	for range 10 {
		asking.Go(func() {
			if resp, got := ask(t, "GET", server.URL()+"/a", ""); resp.StatusCode != 200 || got != "x" {
				t.Errorf("%d %s", resp.StatusCode, got)
			}
		})
	}
	leave()
	asking.Wait()
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

// An exchange that is under way when its recording is stopped is counted as dropped.
func TestRecording_StoppedDuringAnExchange(t *testing.T) {
	arrived, over := make(chan struct{}), make(chan struct{})
	server := proxied(t, `, record: {to: "`+t.TempDir()+`"}`, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-over
	})
	go func() {
		<-arrived
		if _, err := server.Control().Recordings().Stop(server.Control().Recordings().List()[0].ID); err != nil {
			t.Error(err)
		}
		close(over)
	}()
	if resp, got := ask(t, "GET", server.URL()+"/a", ""); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	if s := server.Control().Recordings().List()[0]; s.Dropped != 1 || s.Requests != 0 || server.Control().Recordings().Dropped() != 1 {
		t.Errorf("%+v; %d dropped", s, server.Control().Recordings().Dropped())
	}
}

// A specification that is refused because of its last recording leaves rows, limits, connections and
// recordings as they were.
func TestApply_RefusedBecauseOfARecordingChangesNothing(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	real := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "real") }))
	real.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	real.Start()
	t.Cleanup(real.Close)
	spec := func(timeout, record, more string) *config.Spec {
		spec := config.Parse("a.yml", fmt.Appendf(nil, "- upstream: {name: real, url: %q%s, record: {to: %q}}\n- upstream: {name: other, url: \"http://a\"%s}\n"+
			"- endpoint: {path: /real, response: {proxy: real}}\n- endpoint: {path: /other, response: {proxy: other}}\n"+more,
			real.URL, timeout, filepath.Join(dir, "real"), record))
		if err := spec.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		return spec
	}
	const limited = "- endpoint: {path: /limited, rate-limit: {max-requests: 1, window: 1h}, response: {}}\n"
	const notes = "- resource: {path: /notes, new-key: int}\n"
	server := listenertest.Start(t, spec("", "", limited+notes), listener.Options{})
	for _, c := range []struct{ method, path, body string }{{"GET", "/real", ""}, {"GET", "/limited", ""}, {"POST", "/notes", `{"a":1}`}} {
		if resp, got := ask(t, c.method, server.URL()+c.path, c.body); resp.StatusCode >= 300 {
			t.Fatal(c.path, resp.StatusCode, got)
		}
	}
	var problems config.Problems
	if err := server.Apply(spec(", timeout: 1s", fmt.Sprintf(", record: {to: %q}", taken), "")); !errors.As(err, &problems) {
		t.Fatalf("got %v, want the problem of the recording", err)
	}
	if err := server.Apply(spec("", "", limited+notes)); err != nil {
		t.Fatal(err)
	}
	if resp, got := ask(t, "GET", server.URL()+"/notes/1", ""); resp.StatusCode != 200 {
		t.Errorf("the row is gone: %d %s", resp.StatusCode, got)
	}
	if resp, _ := ask(t, "GET", server.URL()+"/limited", ""); resp.StatusCode != 429 {
		t.Errorf("the limit was forgotten: %d", resp.StatusCode)
	}
	if _, got := ask(t, "GET", server.URL()+"/real", ""); got != "real" || connections.Load() != 1 {
		t.Errorf("got %q over %d connections, want one", got, connections.Load())
	}
	if list := server.Control().Recordings().List(); len(list) != 1 || !list[0].Running {
		t.Errorf("the recordings are %+v", list)
	}
}
