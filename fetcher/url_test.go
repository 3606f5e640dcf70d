package fetcher

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/renderer"
)

func TestRenderedURLStaysInItsDirectory(t *testing.T) {
	var fetches atomic.Int32
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		fetches.Add(1)
		io.WriteString(w, r.RequestURI)
	})
	l := newTestLoader(t, Options{})
	stale := jsonBody(server.URL + "/users/{{query-params.id}}/profile?q={{query-params.id}}")
	stale.TTL, stale.StaleIfError = time.Hour, true
	middle := mustSource(t, l, stale, "")
	glued := mustSource(t, l, jsonBody(server.URL+"/users/.{{query-params.id}}"), "")
	two := mustSource(t, l, jsonBody(server.URL+"/{{query-params.id}}{{query-params.id}}"), "")
	own := mustSource(t, l, jsonBody(server.URL+"/a/../b/{{query-params.id}}"), "")
	host := mustSource(t, l, jsonBody("http://{{query-params.host}}/{{query-params.id}}"), "")
	at := "host=" + strings.TrimPrefix(server.URL, "http://") + "&"
	for _, tt := range []struct {
		name  string
		s     *Source
		query string
	}{
		{"two dots", middle, "id=.."},
		{"two dots, encoded", middle, "id=%2e%2E"},
		{"one dot", middle, "id=."},
		{"up with an encoded slash, which many servers decode first", middle, "id=..%2Fadmin"},
		{"down and up", middle, "id=a%2F..%2F..%2Fadmin"},
		{"a backslash", middle, "id=..%5Cadmin"},
		{"a dot after one that is written out", glued, "id=."},
		{"a dot from each of two placeholders", two, "id=."},
		{"after a directory that is written out with dots", own, "id=.."},
		{"behind a host that is rendered", host, at + "id=.."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := failure(t, tt.s, tt.query)
			if e.Kind != NotFound || !strings.HasPrefix(e.Message, "fetch "+server.URL) || !strings.Contains(e.Message, ". or ..") {
				t.Errorf("error = %v %q, want NotFound with the URL and the cause", e.Kind, e.Message)
			}
		})
	}
	if n := fetches.Load(); n != 0 {
		t.Errorf("%d fetches, want none", n)
	}
	for _, tt := range []struct {
		name  string
		s     *Source
		query string
		want  string
	}{
		{"dots within a name", middle, "id=a..b", "/users/a..b/profile?q=a..b"},
		{"three dots", middle, "id=...", "/users/%2E%2E%2E/profile?q=..."},
		{"dots encoded twice stay a name", middle, "id=%252e%252e", "/users/%252e%252e/profile?q=%252e%252e"},
		{"a slash in a value", middle, "id=a%2Fb", "/users/a%2Fb/profile?q=a%2Fb"},
		{"dots that are written out are the author's own", own, "id=x", "/a/../b/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, tt.s, tt.query); got != tt.want {
				t.Errorf("requested %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPlaceholderGluedToAHostIsAMistake(t *testing.T) {
	scope := &renderer.Scope{Env: func(name string) (string, bool) {
		value, ok := map[string]string{"BASE": "http://127.0.0.1", "HOST": "up", "PORT": ":8080"}[name]
		return value, ok
	}}
	for _, tt := range []struct {
		url  string
		host string // in the message; "" if the URL is accepted
	}{
		{"http://127.0.0.1{{query-params.id}}/users", "127.0.0.1"},
		{"http://127.0.0.1{{query-params.id}}", "127.0.0.1"},
		{"http://127.0.0.1{{query-params.id}}?q=1", "127.0.0.1"},
		{"http://127.0.0.1{{query-params.id}}:8080/x", "127.0.0.1"},
		{"http://127.0.0.1:80{{query-params.id}}/x", "127.0.0.1:80"},
		{"http://127.0.0.1{{query-params.id}}0/x", "127.0.0.1"},
		{`http://api{{query-params.id|default:"/x}}.test"}}/x`, "api"},
		{"http://api{% if query-params.id = 1 %}.a.test{% else %}{{query-params.id}}{% endif %}/x", "api"},
		{"http://alice:sesame@up{{query-params.id}}/x", "up"},
		{"{{env.BASE}}{{query-params.id}}/x", "127.0.0.1"},
		{"http://{{env.HOST}}{{query-params.id}}/x", "up"},

		{"http://{{query-params.host}}/x", ""},
		{"http://{{query-params.host}}", ""},
		{"http://{{query-params.host}}:8080/x", ""},
		{"http://{{env.HOST}}:8080/{{query-params.id}}", ""},
		{"http://{{env.HOST}}{{env.PORT}}/{{query-params.id}}", ""},
		{"{{env.BASE}}/{{query-params.id}}", ""},
		{"http://127.0.0.1:{{query-params.port}}/x", ""},
		{"http://api-{{query-params.region}}.example.test/x", ""},
		{"http://alice:sesame@{{query-params.host}}/x", ""},
		{"http://127.0.0.1/{{query-params.id}}", ""},
		{"http://127.0.0.1?q={{query-params.id}}", ""},
	} {
		s, problems := newTestLoader(t, Options{}).Source(jsonBody(tt.url), "", renderer.JSON, false, scope)
		if tt.host == "" {
			if s == nil || len(problems) > 0 {
				t.Errorf("%s: %v, want it accepted", tt.url, problems)
			}
			continue
		}
		want := `a placeholder directly follows host "` + tt.host + `"`
		if s != nil || len(problems) != 1 || !strings.Contains(problems[0].What, want) || !strings.Contains(problems[0].What, "put a / between") || problems[0].Pos.Line != 5 {
			t.Errorf("%s: %v, want an error that says %s", tt.url, problems, want)
		}
		if strings.Contains(problems.Error(), "sesame") {
			t.Errorf("message %q contains credentials", problems.Error())
		}
	}
}

// The same rules apply to a URL whose beginning comes from an environment variable.
func TestURLsFromTheEnvironmentAreChecked(t *testing.T) {
	scope := &renderer.Scope{Env: func(name string) (string, bool) {
		value, ok := map[string]string{"BASE": "http://127.0.0.1", "BAD": "http://ann:sesame@a:99999"}[name]
		return value, ok
	}}
	for _, tt := range []struct {
		url, cause string
		column     int
	}{
		{"{{env.BAD}}/{{query-params.id}}", `"http://xxxxx@a:99999/" is not a valid URL: the port is "99999"; expected 1 to 65535`, 11},
		{"{{env.BAD}}/x", `the port is "99999"`, 11},
		{"{{env.BASE}}:0/x", `the port is "0"`, 11},
		{"{{env.BASE}}/a b/{{query-params.id}}", "a blank is not allowed in a URL", 25},
	} {
		s, problems := newTestLoader(t, Options{}).Source(jsonBody(tt.url), "", renderer.JSON, false, scope)
		if s != nil || len(problems) != 1 || !strings.Contains(problems[0].What, tt.cause) || problems[0].Pos.Column != tt.column {
			t.Errorf("%s: %v, want %s at column %d", tt.url, problems, tt.cause, tt.column)
		}
	}
}

// FuzzClimbs compares climbs with the standard library: cleaning a path that does not climb does
// not change its segments.
func FuzzClimbs(f *testing.F) {
	for _, seed := range []string{"..", "a/../b", "%2e%2e", "a%2F..%2Fb", "...", "a?/../b", ".", "a//b", "%zz/..", "#.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		const prefix = "http://up/users/"
		u, err := url.Parse(prefix + rest)
		if err != nil || strings.Contains(u.Path, "\\") {
			return
		}
		cleaned := path.Clean("/" + u.Path)
		plain := "/" + strings.Join(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' }), "/")
		if got := climbs(prefix+rest, prefix); got == (cleaned == plain) {
			t.Errorf("climbs(%q) = %v; %q cleaned is %q", rest, got, plain, cleaned)
		}
	})
}

// Fetches beyond the limit wait for their turn, and the wait counts toward their timeout.
func TestFetchesInFlightAreBounded(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 1)
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-hold
		}
		io.WriteString(w, "done")
	})
	l := newTestLoader(t, Options{})
	if cap(l.slots) != maxFetches {
		t.Fatalf("%d fetches at a time, want %d", cap(l.slots), maxFetches)
	}
	l.slots = make(chan struct{}, 1)
	slow, r := mustSource(t, l, jsonBody(server.URL+"/slow"), ""), request(t, "")
	var done sync.WaitGroup
	done.Go(func() {
		if _, err := slow.Body(r); err != nil {
			t.Error(err)
		}
	})
	<-arrived
	ext := jsonBody(server.URL + "/other")
	ext.Timeout = time.Millisecond
	e := failure(t, mustSource(t, l, ext, ""), "")
	if want := "fetch " + server.URL + "/other: still queued after 1ms"; e.Kind != Timeout || e.Message != want {
		t.Errorf("error = %v %q, want a timeout, %q", e.Kind, e.Message, want)
	}
	close(hold)
	done.Wait()
	if got := bodyOf(t, mustSource(t, l, jsonBody(server.URL+"/other"), ""), ""); got != "done" {
		t.Errorf("afterwards = %q", got)
	}
}

// All connections to the host are still being opened, so the next fetch does not get one. The fake
// clock of the bubble advances when all goroutines are blocked.
func TestConnectionsToOneHostAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLoader(0)
		var dials atomic.Int32
		hold := make(chan struct{}) // a connection that is being opened outlives its request
		verified(t, l).Transport.(*http.Transport).DialContext = func(_ context.Context, _, _ string) (net.Conn, error) {
			dials.Add(1)
			<-hold
			return nil, io.ErrUnexpectedEOF
		}
		patient := jsonBody("http://example.test/{{query-params.id}}")
		patient.Timeout = time.Hour
		s := mustSource(t, l, patient, "")
		var all sync.WaitGroup
		for i := range maxPerHost {
			r := request(t, "id="+strings.Repeat("x", i+1))
			all.Go(func() { _, _ = s.Body(r) })
		}
		synctest.Wait()
		e := failure(t, mustSource(t, l, jsonBody("http://example.test/next"), ""), "")
		if want := "fetch http://example.test/next: no complete answer within 10s"; e.Kind != Timeout || e.Message != want {
			t.Errorf("error = %v %q, want a timeout, %q", e.Kind, e.Message, want)
		}
		if n := dials.Load(); n != maxPerHost {
			t.Errorf("%d connections were begun, want %d", n, maxPerHost)
		}
		l.Close(context.Background())
		all.Wait()
		close(hold)
	})
}
