package admin

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mockserver/listener/observe/record"
)

func TestAccess_TokensAreComparedWhole(t *testing.T) {
	a := &Admin{opts: Options{Token: "secret"}, token: hashOf("secret")}
	for header, want := range map[string]bool{
		"Bearer secret": true, "bearer secret": true, "BEARER  secret ": true,
		"": false, "secret": false, "Bearer": false, "Bearer ": false, "Bearer secre": false, "Bearer secrets": false,
		"Bearer Secret": false, "Basic secret": false, "Bearer secret secret": false, "Bearer \x00secret": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		if a.bears(r) != want {
			t.Errorf("%q: got %v", header, !want)
		}
	}
}

func FuzzNamesThisMachine(f *testing.F) {
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1:8001", "[::1]:1", "::1", "evil.example", "127.0.0.1.evil.example", "[::ffff:127.0.0.1]", "127.1", "", ":80", "localhost.", "[localhost]"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !namesThisMachine(host) {
			return
		}
		// A browser must also interpret the host as this machine, or as invalid.
		u, err := url.Parse("http://" + host)
		if err != nil {
			return
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if !strings.EqualFold(u.Hostname(), "localhost") && (err != nil || !ip.Unmap().IsLoopback()) {
			t.Errorf("%q is taken for this machine, but is %q", host, u.Hostname())
		}
	})
}

func FuzzJournalSearch(f *testing.F) {
	for _, query := range []string{"", "limit=5", "status=404,5xx", "since=5m", "since=2024-01-15T10:30:00Z", "path=/a*", "kept=slow", "after=7", "endpoint=GET+/a&method=post", "status=,", "limit=99999999999999999999", "x=1", "since=-1s"} {
		f.Add(query)
	}
	x := &record.Exchange{ID: 1, Kept: record.Slow, Time: time.Unix(1700000000, 0), Endpoint: "GET /a", Method: "GET", Target: "/a?b", Status: 404}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q := &query{values: values}
		s := searchOf(q)
		wrong := q.wrong
		if wrong == "" && (s.limit < 0 || s.limit > mostExchanges) {
			t.Errorf("%q: the limit is %d", text, s.limit)
		}
		found := s.finds(x)
		if wrong == "" && found && (s.after >= x.ID || s.since.After(x.Time) || s.kept != "" && s.kept != "slow") {
			t.Errorf("%q finds requests that it does not ask for", text)
		}
	})
}

func TestAccess_BodiesAreReadWhole(t *testing.T) {
	for body, want := range map[string]int{
		`{"condition": "a"}`: 200, " {} \n": 200, `{} {}`: 400, `{}x`: 400, `{}]`: 400, ``: 400, `{"condition": "a"`: 400,
		`{"conditions": "a"}`: 400, strings.Repeat(" ", smallBody) + "{}": 413, `{"condition": "` + strings.Repeat("x", smallBody) + `"}`: 413,
	} {
		w := httptest.NewRecorder()
		var v verification
		ok := read(w, httptest.NewRequest("POST", "/", strings.NewReader(body)), &v)
		if ok != (want == 200) || !ok && w.Code != want {
			t.Errorf("%.30q: got %v with %d, want %d", body, ok, w.Code, want)
		}
		if want == 400 && !strings.Contains(w.Body.String(), "; expected a JSON object with the keys condition, count, at-least, at-most, exact") {
			t.Errorf("%.30q: the answer lacks what is expected: %s", body, w.Body)
		}
	}
}

// pathParameter matches a parameter of a path.
var pathParameter = regexp.MustCompile(`\{\w+\}`)

// Before a server is attached, every request that needs the token is refused with status 503.
func TestAccess_NothingIsReachedBeforeAServerIsAttached(t *testing.T) {
	a, err := Open(Options{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	for _, row := range a.table() {
		if row.asks != withToken {
			continue
		}
		path := pathParameter.ReplaceAllString(row.path, "1")
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			req, err := http.NewRequestWithContext(t.Context(), method, a.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 503 {
				t.Errorf("%s %s: got %d, want 503", method, path, resp.StatusCode)
			}
		}
	}
}
