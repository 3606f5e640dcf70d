package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sentryKey is the key of the DSNs below: it is for their host alone.
const sentryKey = "5ecre7key5ecre7key"

// sentryHost is a Sentry host: it speaks the envelope protocol, and keeps whatever
// it is sent.
type sentryHost struct {
	t      *testing.T
	dsn    string
	answer func(w http.ResponseWriter, req *http.Request) // nil: 200 and the id of the event

	mu     sync.Mutex // guards what follows
	raw    bytes.Buffer
	events []sentryEvent
}

// sentryEvent is what the tests look at in an event, and the keys it has.
type sentryEvent struct {
	Level       string
	Release     string
	Environment string
	Tags        map[string]string
	Exception   []struct{ Type, Value string }
	Fingerprint []string

	keys []string
}

func newSentryHost(t *testing.T, answer func(w http.ResponseWriter, req *http.Request)) *sentryHost {
	t.Helper()
	h := &sentryHost{t: t, answer: answer}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.dsn = "http://" + sentryKey + "@" + server.Listener.Addr().String() + "/4507"
	return h
}

// ServeHTTP takes an envelope.
func (h *sentryHost) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	whole, err := httputil.DumpRequest(req, true)
	if err != nil {
		h.t.Error(err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		h.t.Error(err)
	}
	if req.Method != "POST" || req.URL.Path != "/api/4507/envelope/" || req.Header.Get("Content-Type") != "application/x-sentry-envelope" {
		h.t.Errorf("got %s %s, Content-Type %q", req.Method, req.URL, req.Header.Get("Content-Type"))
	}
	if auth := req.Header.Get("X-Sentry-Auth"); !strings.HasPrefix(auth, "Sentry ") || !strings.Contains(auth, "sentry_version=7") || !strings.Contains(auth, "sentry_key="+sentryKey) {
		h.t.Errorf("X-Sentry-Auth: %q", auth)
	}
	event, err := readEnvelope(body)
	if err != nil {
		h.t.Errorf("envelope: %v in %s", err, body)
	}
	h.mu.Lock()
	h.raw.Write(whole)
	h.events = append(h.events, event)
	h.mu.Unlock()
	if h.answer != nil {
		h.answer(w, req)
	}
}

// readEnvelope reads an envelope of one event: a line with its header, a line with
// the item's header, the payload in the length told there.
func readEnvelope(envelope []byte) (sentryEvent, error) {
	var event sentryEvent
	var header struct {
		ID string `json:"event_id"`
	}
	first, rest, _ := bytes.Cut(envelope, []byte("\n"))
	if err := json.Unmarshal(first, &header); err != nil || len(header.ID) != 32 {
		return event, fmt.Errorf("header with event_id %q, %v", header.ID, err)
	}
	var item struct {
		Type   string
		Length int
	}
	second, rest, _ := bytes.Cut(rest, []byte("\n"))
	if err := json.Unmarshal(second, &item); err != nil || item.Type != "event" || item.Length > len(rest) {
		return event, fmt.Errorf("item of type %q and length %d of %d, %v", item.Type, item.Length, len(rest), err)
	}
	if more := bytes.TrimSpace(rest[item.Length:]); len(more) > 0 {
		return event, fmt.Errorf("further items %s", more)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(rest[:item.Length], &all); err != nil {
		return event, err
	}
	for key, value := range all {
		if string(value) != "{}" {
			event.keys = append(event.keys, key)
		}
	}
	slices.Sort(event.keys)
	var id string
	if err := json.Unmarshal(all["event_id"], &id); err != nil || id != header.ID {
		return event, fmt.Errorf("event_id %q is not that of the envelope, %v", id, err)
	}
	return event, json.Unmarshal(rest[:item.Length], &event)
}

// kinds is how often each code and endpoint arrived. It is to be called once the
// program has ended.
func (h *sentryHost) kinds() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds := map[string]int{}
	for _, e := range h.events {
		kinds[e.Tags["code"]+" "+e.Tags["endpoint"]]++
	}
	return kinds
}

// free returns an address of the loopback interface where nothing listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silent returns the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // its queue takes connections that nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// reporting launches the program with a DSN and waits until it listens.
func reporting(t *testing.T, dsn, configuration string, env ...string) *process {
	t.Helper()
	dir := t.TempDir()
	file := writeFile(t, dir, "mock.yml", configuration)
	return launchIn(t, dir, append(env, "SENTRY_DSN="+dsn), "-c", file).listening()
}

// keyless ends the program and fails the test if it has written the key of the DSN.
func (p *process) keyless() {
	p.t.Helper()
	stdout, stderr := p.stopped()
	if out := stdout + stderr; strings.Contains(out, sentryKey) || strings.Contains(out, "sentry_key") {
		p.t.Errorf("the key of the DSN is in the output:\n%s", out)
	}
}

// Bodies that cannot be had are reported once a kind, and nothing of a request, of
// the environment or of a URL's secrets goes with them.
func TestReports_BodiesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	h := newSentryHost(t, nil)
	closed, slow := free(t), silent(t)
	dir := t.TempDir()
	gone := writeFile(t, dir, "gone.json", "{}")
	file := writeFile(t, dir, "mock.yml", `
- endpoint: {method: POST, path: /file, response: {external-body: {provider: json, path: gone.json}}}
- endpoint: {method: POST, path: "/url/:id", response: {external-body: {provider: json, path: "http://hunter2user:hunter2pw@`+closed+`/x?key=hunter2key&q={{query-params.q}}"}}}
- endpoint: {method: POST, path: /header, response: {external-body: {provider: json, path: "http://`+closed+`/{{header-params.Authorization}}/{{json-params.card}}/{{cookie-params.sid}}"}}}
- endpoint: {method: POST, path: /env, response: {external-body: {provider: json, path: "{{env.BASE}}/x"}}}
- endpoint: {method: POST, path: /slow, response: {external-body: {provider: json, path: "http://`+slow+`/x", timeout: 20ms}}}
`)
	p := launchIn(t, dir, []string{
		"SENTRY_DSN=" + h.dsn, "BASE=http://" + closed + "/hunter2base", "SECRET=hunter2env",
		// Whatever sentry-go would read of the environment by itself:
		"SENTRY_RELEASE=hunter2release", "SENTRY_ENVIRONMENT=hunter2environment", "SENTRY_TAGS_team=hunter2tag",
		"GITHUB_SHA=hunter2sha", "SENTRYGODEBUG=httpdump=1",
	}, "-c", file).listening()
	p.waitLine(0, "INFO", "errors are reported", "to=127.0.0.1:")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, c := range []struct {
		path, code, endpoint string
		status, times        int
	}{
		{"/file", "body_unavailable", "POST /file", 500, 50},
		{"/url/hunter2id", "upstream_failed", "POST /url/:id", 502, 50},
		{"/header", "upstream_failed", "POST /header", 502, 50},
		{"/env", "upstream_failed", "POST /env", 502, 50},
		{"/slow", "upstream_timeout", "POST /slow", 504, 5},
	} {
		ask := func() answer {
			return p.do("POST", c.path+"?q=hunter2query&hunter2name", `{"card": "hunter2body"}`, "Content-Type: application/json",
				"Authorization: Bearer hunter2auth", "Cookie: sid=hunter2cookie", "X-Api-Key: hunter2header", "User-Agent: hunter2agent",
				"Origin: https://hunter2origin")
		}
		for deadline := time.Now().Add(patience); ask().status != c.status && time.Now().Before(deadline); {
			continue // a file is looked at again now and then
		}
		for range c.times {
			if a := ask(); a.status != c.status || !strings.Contains(a.body, `"`+c.code+`"`) {
				t.Fatalf("%s: got %d %s", c.path, a.status, a.body)
			}
		}
		want[c.code+" "+c.endpoint] = 1
	}
	p.keyless()
	if got := h.kinds(); !maps.Equal(got, want) {
		t.Errorf("reported %v\nwant %v", got, want)
	}
	for _, secret := range []string{"hunter2", "Bearer", "sid=", `"request"`, `"user":{"`, "ip_address", "mock.yml", dir, "PATH="} {
		if strings.Contains(h.raw.String(), secret) {
			t.Errorf("%q is in what was sent:\n%s", secret, &h.raw)
		}
	}
	allowed := []string{"event_id", "exception", "fingerprint", "level", "platform", "release", "sdk", "server_name", "tags", "timestamp"}
	for _, e := range h.events {
		if !slices.Equal(e.keys, allowed) || len(e.Tags) != 2 || e.Level != "error" || len(e.Exception) != 1 || e.Exception[0].Type != e.Tags["code"] {
			t.Errorf("got %+v, want the keys %q", e, allowed)
		}
		if !strings.HasPrefix(e.Release, "mockserver@") || len(e.Fingerprint) != 2 {
			t.Errorf("release %q, fingerprint %q", e.Release, e.Fingerprint)
		}
	}
}

// Answers that are declared and requests that nothing matches are no errors of the server.
func TestReports_NothingElse(t *testing.T) {
	t.Parallel()
	h := newSentryHost(t, nil)
	p := reporting(t, h.dsn, `
- endpoint: {path: /500, response: {status: 500, body: declared}}
- endpoint: {path: /503, response: {status: 503, body: "{{path}}"}}
- endpoint: {path: "/file/:id", response: {external-body: {provider: json, path: "{{path-params.id}}.json"}}}
- endpoint: {path: /fails, response: {external-body: {provider: json, path: "http://`+free(t)+`/"}}}
`, "MOCKSERVER_UNMATCHED_STATUS=599")
	for path, status := range map[string]int{"/500": 500, "/503": 503, "/nowhere": 599, "/file/none": 404} {
		for range 3 {
			if got := p.get(path).status; got != status {
				t.Errorf("%s: got %d, want %d", path, got, status)
			}
		}
	}
	p.get("/fails") // so that something has to arrive
	p.stopped()
	if got, want := h.kinds(), map[string]int{"upstream_failed GET /fails": 1}; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

// fails is an endpoint that answers 502.
func fails(t *testing.T) string {
	t.Helper()
	return `- endpoint: {path: /fails, response: {external-body: {provider: json, path: "http://` + free(t) + `/"}}}
- endpoint: {path: /fine, response: {body: ok}}
`
}

// Whatever the host of the DSN does, requests are answered and the program stops.
func TestReports_HostsThatDoHarm(t *testing.T) {
	t.Parallel()
	elsewhere := newSentryHost(t, nil)
	hang := make(chan struct{})
	t.Cleanup(func() {
		close(hang)
		if len(elsewhere.events) > 0 {
			t.Error("a redirect was followed with the key")
		}
	})
	for name, c := range map[string]struct {
		dsn    func(t *testing.T) string
		reason string
	}{
		"unreachable": {func(t *testing.T) string { return "http://" + sentryKey + "@" + free(t) + "/1" }, "connection refused"},
		"silent":      {func(t *testing.T) string { return "http://" + sentryKey + "@" + silent(t) + "/1" }, "the server stopped before they were"},
		"unknown":     {func(*testing.T) string { return "http://" + sentryKey + "@sentry.invalid/1" }, "sentry.invalid"},
		"not TLS": {func(t *testing.T) string {
			return strings.Replace(newSentryHost(t, nil).dsn, "http:", "https:", 1)
		}, "tls: "},
		"429": {answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}), "the host answered with status 429"},
		"500": {answering(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "the host answered with status 500"},
		"403": {answering(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }), "the host answered with status 403"},
		"a redirect": {answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://"+strings.SplitN(elsewhere.dsn, "@", 2)[1])
			w.WriteHeader(307)
		}), "the host answered with status 307"},
		"hanging within its answer": {answering(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush() // the connection may be gone
			select {
			case <-hang:
			case <-req.Context().Done():
			}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := reporting(t, c.dsn(t), fails(t))
			for range 5 {
				p.get("/fine").want(t, 200, "ok")
				if a := p.get("/fails"); a.status != 502 {
					t.Errorf("got %d %s", a.status, a.body)
				}
			}
			p.keyless()
			if c.reason != "" {
				p.waitLine(0, "WARN", "error reports not sent", "reports=1", c.reason)
			}
		})
	}
}

func answering(answer func(w http.ResponseWriter, req *http.Request)) func(*testing.T) string {
	return func(t *testing.T) string { return newSentryHost(t, answer).dsn }
}

// What waits to be sent when the program is told to stop is sent.
func TestReports_AreFlushed(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	h := newSentryHost(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	p := reporting(t, h.dsn, fails(t)+`- endpoint: {path: /second, response: {external-body: {provider: json, path: "http://`+free(t)+`/"}}}`)
	p.get("/fails")
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Fatal("no report arrives")
	}
	p.get("/second") // waits behind the first
	p.signal(syscall.SIGTERM)
	p.waitLine(0, "stopping")
	close(release)
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := h.kinds(); len(got) != 2 || got["upstream_failed GET /second"] != 1 {
		t.Errorf("reported %v", got)
	}
}

// A second signal does not wait for reports.
func TestReports_SecondSignal(t *testing.T) {
	t.Parallel()
	p := reporting(t, "http://"+sentryKey+"@"+silent(t)+"/1", fails(t))
	p.get("/fails")
	p.signal(syscall.SIGTERM)
	p.waitLine(0, "stopping")
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	p.waitLine(0, "stopped at once, by a second signal")
}

// What is no DSN is told without a word of it, and harms nothing.
func TestReports_WrongDSN(t *testing.T) {
	t.Parallel()
	for dsn, why := range map[string]string{
		sentryKey:                                 "it begins with neither https:// nor http://",
		"https://sentry.test/" + sentryKey:        "the key before the @ is missing",
		"https://" + sentryKey + "@sentry.test/":  "the project at its end is missing",
		"https://a:" + sentryKey + "/1":           "it is not a valid URL",
		"https://" + sentryKey + "%0a@sentry.te/": "its key holds a character that no key has",
	} {
		p := reporting(t, dsn, fails(t))
		p.waitLine(0, "WARN", "errors are not reported", "SENTRY_DSN is not a DSN: "+why)
		p.get("/fine").want(t, 200, "ok")
		if a := p.get("/fails"); a.status != 502 {
			t.Errorf("got %d %s", a.status, a.body)
		}
		p.keyless()
	}
	file := writeFile(t, t.TempDir(), "mock.yml", "[]")
	for _, format := range []string{"println", "json"} {
		code, stdout, stderr := refused(t, []string{"SENTRY_DSN=" + sentryKey, "MOCKSERVER_FORMAT=" + format}, "validate", "-c", file)
		if code != 0 || strings.Count(stdout, "SENTRY_DSN is not a DSN: it begins") != 1 || strings.Contains(stdout+stderr, sentryKey) {
			t.Errorf("validate: %d\n%s\n%s", code, stdout, stderr)
		}
	}
}

// The flag beats the variable, an empty one too.
func TestReports_Flag(t *testing.T) {
	t.Parallel()
	h := newSentryHost(t, nil)
	file := writeFile(t, t.TempDir(), "mock.yml", fails(t))
	p := launch(t, []string{"SENTRY_DSN=nonsense"}, "-c", file, "--sentry-dsn", h.dsn).listening()
	p.get("/fails")
	p.stopped()
	if got := h.kinds(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
	p = launch(t, []string{"SENTRY_DSN=" + h.dsn}, "-c", file, "--sentry-dsn=").listening()
	p.get("/fails")
	p.stopped()
	if got := h.kinds(); len(got) != 1 || strings.Contains(strings.Join(p.output(), "\n"), "reported") {
		t.Errorf("reported %v although it was switched off", got)
	}
}
