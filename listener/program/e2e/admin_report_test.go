package e2e_test

import (
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// silent returns the address of a server that accepts connections and never responds.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its backlog, since they are never accepted
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// keyless stops the program and fails the test if the program has written the key of the DSN.
func keyless(p *Process) {
	p.T.Helper()
	stdout, stderr := p.Stopped()
	if out := stdout + stderr; strings.Contains(out, sentryKey) || strings.Contains(out, "sentry_key") {
		p.T.Errorf("the key of the DSN is in the output:\n%s", out)
	}
}

// Unavailable bodies are reported once per kind. A report contains no data of a request or the
// environment, and no secrets of a URL.
func TestReports_BodiesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	h := newSentryHost(t, nil)
	closed, slow := Free(t), silent(t)
	dir := t.TempDir()
	gone := harness.WriteFile(t, dir, "gone.json", "{}")
	file := harness.WriteFile(t, dir, "mock.yml", `
- endpoint: {method: POST, path: /file, response: {external-body: {provider: json, path: gone.json}}}
- endpoint: {method: POST, path: "/url/:id", response: {external-body: {provider: json, path: "http://hunter2user:hunter2pw@`+closed+`/x?key=hunter2key&q={{query-params.q}}"}}}
- endpoint: {method: POST, path: /header, response: {external-body: {provider: json, path: "http://`+closed+`/{{header-params.Authorization}}/{{json-params.card}}/{{cookie-params.sid}}"}}}
- endpoint: {method: POST, path: /env, response: {external-body: {provider: json, path: "{{env.BASE}}/x"}}}
- endpoint: {method: POST, path: /slow, response: {external-body: {provider: json, path: "http://`+slow+`/x", timeout: 20ms}}}
`)
	p := LaunchIn(t, dir, []string{
		"SENTRY_DSN=" + h.DSN, "BASE=http://" + closed + "/hunter2base", "SECRET=hunter2env",
		// Everything that sentry-go would read from the environment by itself:
		"SENTRY_RELEASE=hunter2release", "SENTRY_ENVIRONMENT=hunter2environment", "SENTRY_TAGS_team=hunter2tag",
		"GITHUB_SHA=hunter2sha", "SENTRYGODEBUG=httpdump=1",
	}, "-c", file).Listening()
	p.WaitLine(0, "INFO", "errors are reported", "to=127.0.0.1:")
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
		ask := func() Response {
			return p.Do("POST", c.path+"?q=hunter2query&hunter2name", `{"card": "hunter2body"}`, "Content-Type: application/json",
				"Authorization: Bearer hunter2auth", "Cookie: sid=hunter2cookie", "X-Api-Key: hunter2header", "User-Agent: hunter2agent",
				"Origin: https://hunter2origin")
		}
		for deadline := time.Now().Add(harness.Patience); ask().Status != c.status && time.Now().Before(deadline); {
			continue // a file is checked again from time to time
		}
		for range c.times {
			if a := ask(); a.Status != c.status || !strings.Contains(a.Body, `"`+c.code+`"`) {
				t.Fatalf("%s: got %d %s", c.path, a.Status, a.Body)
			}
		}
		want[c.code+" "+c.endpoint] = 1
	}
	keyless(p)
	if got := h.Kinds(); !maps.Equal(got, want) {
		t.Errorf("reported %v\nwant %v", got, want)
	}
	for _, secret := range []string{"hunter2", "Bearer", "sid=", `"request"`, `"user":{"`, "ip_address", "mock.yml", dir, "PATH="} {
		if strings.Contains(h.Raw.String(), secret) {
			t.Errorf("%q is in the reports:\n%s", secret, &h.Raw)
		}
	}
	allowed := []string{"event_id", "exception", "fingerprint", "level", "platform", "release", "sdk", "server_name", "tags", "timestamp"}
	for _, e := range h.Events {
		if !slices.Equal(e.Keys, allowed) || len(e.Tags) != 2 || e.Level != "error" || len(e.Exception) != 1 || e.Exception[0].Type != e.Tags["code"] {
			t.Errorf("got %+v, want the keys %q", e, allowed)
		}
		if !strings.HasPrefix(e.Release, "mockserver@") || len(e.Fingerprint) != 2 {
			t.Errorf("release %q, fingerprint %q", e.Release, e.Fingerprint)
		}
	}
}

// Declared replies and unmatched requests are not errors of the server.
func TestReports_NothingElse(t *testing.T) {
	t.Parallel()
	h := newSentryHost(t, nil)
	p := reporting(t, h.DSN, `
- endpoint: {path: /500, response: {status: 500, body: declared}}
- endpoint: {path: /503, response: {status: 503, body: "{{path}}"}}
- endpoint: {path: "/file/:id", response: {external-body: {provider: json, path: "{{path-params.id}}.json"}}}
- endpoint: {path: /fails, response: {external-body: {provider: json, path: "http://`+Free(t)+`/"}}}
`, "MOCKSERVER_UNMATCHED_STATUS=599")
	for path, status := range map[string]int{"/500": 500, "/503": 503, "/nowhere": 599, "/file/none": 404} {
		for range 3 {
			if got := p.Get(path).Status; got != status {
				t.Errorf("%s: got %d, want %d", path, got, status)
			}
		}
	}
	p.Get("/fails") // so that a report must arrive
	p.Stopped()
	if got, want := h.Kinds(), map[string]int{"upstream_failed GET /fails": 1}; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

// Requests are answered and the program stops, whatever the host of the DSN does.
func TestReports_HostsThatDoHarm(t *testing.T) {
	t.Parallel()
	elsewhere := newSentryHost(t, nil)
	hang := make(chan struct{})
	t.Cleanup(func() {
		close(hang)
		if len(elsewhere.Events) > 0 {
			t.Error("a redirect was followed with the key")
		}
	})
	for name, c := range map[string]struct {
		dsn    func(t *testing.T) string
		reason string
	}{
		"unreachable": {func(t *testing.T) string { return "http://" + sentryKey + "@" + Free(t) + "/1" }, "connection refused"},
		"silent":      {func(t *testing.T) string { return "http://" + sentryKey + "@" + silent(t) + "/1" }, "the server stopped before they were"},
		"unknown":     {func(*testing.T) string { return "http://" + sentryKey + "@sentry.invalid/1" }, "sentry.invalid"},
		"not TLS": {func(t *testing.T) string {
			return strings.Replace(newSentryHost(t, nil).DSN, "http:", "https:", 1)
		}, "tls: "},
		"429": {hostWith(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}), "the host answered with status 429"},
		"500": {hostWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "the host answered with status 500"},
		"403": {hostWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }), "the host answered with status 403"},
		"a redirect": {hostWith(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://"+strings.SplitN(elsewhere.DSN, "@", 2)[1])
			w.WriteHeader(307)
		}), "the host answered with status 307"},
		"hanging within its answer": {hostWith(func(w http.ResponseWriter, req *http.Request) {
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
				p.Get("/fine").Want(t, 200, "ok")
				if a := p.Get("/fails"); a.Status != 502 {
					t.Errorf("got %d %s", a.Status, a.Body)
				}
			}
			keyless(p)
			if c.reason != "" {
				p.WaitLine(0, "WARN", "error reports not sent", "reports=1", c.reason)
			}
		})
	}
}

func hostWith(response func(w http.ResponseWriter, req *http.Request)) func(*testing.T) string {
	return func(t *testing.T) string { return newSentryHost(t, response).DSN }
}

// Reports that are pending when the program is stopped are sent.
func TestReports_AreFlushed(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	h := newSentryHost(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	p := reporting(t, h.DSN, fails(t)+`- endpoint: {path: /second, response: {external-body: {provider: json, path: "http://`+Free(t)+`/"}}}`)
	p.Get("/fails")
	select {
	case <-arrived:
	case <-time.After(harness.Patience):
		t.Fatal("no report arrives")
	}
	p.Get("/second") // waits for the first
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "stopping")
	close(release)
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := h.Kinds(); len(got) != 2 || got["upstream_failed GET /second"] != 1 {
		t.Errorf("reported %v", got)
	}
}

// A second signal does not wait for reports.
func TestReports_SecondSignal(t *testing.T) {
	t.Parallel()
	p := reporting(t, "http://"+sentryKey+"@"+silent(t)+"/1", fails(t))
	p.Get("/fails")
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "stopping")
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	p.WaitLine(0, "stopped immediately by a second signal")
}

// An invalid DSN is reported without quoting it, and has no other effect.
func TestReports_WrongDSN(t *testing.T) {
	t.Parallel()
	for dsn, why := range map[string]string{
		sentryKey:                                 "it begins with neither https:// nor http://",
		"https://sentry.test/" + sentryKey:        "the key before the @ is missing",
		"https://" + sentryKey + "@sentry.test/":  "the project at its end is missing",
		"https://a:" + sentryKey + "/1":           "it is not a valid URL",
		"https://" + sentryKey + "%0a@sentry.te/": "its key contains an invalid character",
	} {
		p := reporting(t, dsn, fails(t))
		p.WaitLine(0, "WARN", "errors are not reported", "SENTRY_DSN is not a DSN: "+why)
		p.Get("/fine").Want(t, 200, "ok")
		if a := p.Get("/fails"); a.Status != 502 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
		keyless(p)
	}
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", "[]")
	for _, format := range []string{"println", "json"} {
		code, stdout, stderr := Refused(t, []string{"SENTRY_DSN=" + sentryKey, "MOCKSERVER_FORMAT=" + format}, "validate", "-c", file)
		if code != 0 || strings.Count(stdout, "SENTRY_DSN is not a DSN: it begins") != 1 || strings.Contains(stdout+stderr, sentryKey) {
			t.Errorf("validate: %d\n%s\n%s", code, stdout, stderr)
		}
	}
}

// The flag takes precedence over the variable, even if the flag is empty.
func TestReports_Flag(t *testing.T) {
	t.Parallel()
	h := newSentryHost(t, nil)
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", fails(t))
	p := Launch(t, []string{"SENTRY_DSN=nonsense"}, "-c", file, "--sentry-dsn", h.DSN).Listening()
	p.Get("/fails")
	p.Stopped()
	if got := h.Kinds(); len(got) != 1 {
		t.Errorf("reported %v", got)
	}
	p = Launch(t, []string{"SENTRY_DSN=" + h.DSN}, "-c", file, "--sentry-dsn=").Listening()
	p.Get("/fails")
	p.Stopped()
	if got := h.Kinds(); len(got) != 1 || strings.Contains(strings.Join(p.Output(), "\n"), "reported") {
		t.Errorf("reported %v although reports were switched off", got)
	}
}
