package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"

	"mockserver/internal/harness"
)

// sentryKey is the key in the DSN of each sentryHost. The program must send it only to that host.
const sentryKey = "5ecre7key5ecre7key"

// sentryHost is a Sentry host: it implements the envelope protocol, and stores everything it
// receives.
type sentryHost struct {
	t        *testing.T
	DSN      string
	response func(w http.ResponseWriter, req *http.Request) // nil answers with 200

	mu     sync.Mutex // guards the fields below
	Raw    bytes.Buffer
	Events []sentryEvent
}

// sentryEvent contains the fields of an event that the tests examine, and the keys that the event
// has.
type sentryEvent struct {
	Level       string
	Release     string
	Environment string
	Tags        map[string]string
	Exception   []struct{ Type, Value string }
	Fingerprint []string

	Keys []string
}

// newSentryHost starts a Sentry host, which is stopped at the end of the test. answer may be nil.
func newSentryHost(t *testing.T, response func(w http.ResponseWriter, req *http.Request)) *sentryHost {
	t.Helper()
	h := &sentryHost{t: t, response: response}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.DSN = "http://" + sentryKey + "@" + server.Listener.Addr().String() + "/4507"
	return h
}

// ServeHTTP receives an envelope.
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
	h.Raw.Write(whole)
	h.Events = append(h.Events, event)
	h.mu.Unlock()
	if h.response != nil {
		h.response(w, req)
	}
}

// readEnvelope returns the event of an envelope, and its keys.
func readEnvelope(envelope []byte) (sentryEvent, error) {
	var event sentryEvent
	payload, err := eventIn(envelope)
	if err != nil {
		return event, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(payload, &all); err != nil {
		return event, err
	}
	for key, value := range all {
		if string(value) != "{}" {
			event.Keys = append(event.Keys, key)
		}
	}
	slices.Sort(event.Keys)
	return event, json.Unmarshal(payload, &event)
}

// Kinds returns how many events with each code and endpoint were received. It should be called
// after the program has exited.
func (h *sentryHost) Kinds() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds := map[string]int{}
	for _, e := range h.Events {
		kinds[e.Tags["code"]+" "+e.Tags["endpoint"]]++
	}
	return kinds
}

// reporting launches the program with a DSN and waits until it listens.
func reporting(t *testing.T, dsn, configuration string, env ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", configuration)
	return LaunchIn(t, dir, append(env, "SENTRY_DSN="+dsn), "-c", file).Listening()
}

// fails returns a configuration with two endpoints: /fails, which answers with 502, and /fine.
func fails(t *testing.T) string {
	t.Helper()
	return `- endpoint: {path: /fails, response: {external-body: {provider: json, path: "http://` + Free(t) + `/"}}}
- endpoint: {path: /fine, response: {body: ok}}
`
}
