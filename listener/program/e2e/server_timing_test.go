package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// With --server-timing, a response shows what its time was spent on.
func TestServerTiming_SaysWhatTheTimeWasSpentOn(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(30 * time.Millisecond) // the delay that is measured
		<-timer.C
		_, _ = io.WriteString(w, "{}")
	}))
	defer upstream.Close()
	mock := "- endpoint: {path: /fixed, response: {body: a}}\n- endpoint: {path: /late, response: {body: b}, latency: {min-ms: 20, max-ms: 20}}\n" +
		"- endpoint: {path: /remote, response: {external-body: {provider: json, path: \"" + upstream.URL + "\"}}}\n"
	if got := Serving(t, mock).Get("/late"); got.Header.Get("Server-Timing") != "" {
		t.Errorf("without the flag: %v", got.Header)
	}
	p := Serving(t, mock, "--server-timing")
	form := regexp.MustCompile(`^declared;dur=([0-9.]+), waited;dur=([0-9.]+), late;dur=([0-9.]+), upstream;dur=([0-9.]+), own;dur=([0-9.]+)$`)
	for path, declared := range map[string]float64{"/fixed": 0, "/late": 20, "/remote": 0, "/nowhere": 0} {
		got := p.Get(path)
		parts := form.FindStringSubmatch(got.Header.Get("Server-Timing"))
		if parts == nil {
			t.Errorf("%s: Server-Timing is %q", path, got.Header.Get("Server-Timing"))
			continue
		}
		var ms [5]float64
		for i := range ms {
			ms[i], _ = strconv.ParseFloat(parts[i+1], 64) // the expression matches only numbers
		}
		if ms[0] != declared || ms[1] < ms[2] || ms[1] == 0 != (declared == 0) || ms[3] >= 30 != (path == "/remote") || ms[4] == 0 {
			t.Errorf("%s: %s; want %v ms declared, waited, late, upstream, and some own time", path, got.Header.Get("Server-Timing"), declared)
		}
	}
}

// A stream has a trailer with its own figures, over HTTP/1.1 only for a client that takes it.
func TestServerTiming_OfStreams(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^stream;dur=([0-9.]+);desc="(.*)", late;dur=[0-9.]+, blocked;dur=[0-9.]+$`)
	for way := range TestedWays() {
		p := StartBy(t, way, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", `
- endpoint: {path: /words, response: {stream: [{times: 3, data: a}], pace: {first: 20ms, gap: 1ms}}}
- endpoint: {path: /large, response: {stream: [{times: 30000, data: "0123456789"}]}}
- endpoint: {path: /empty, response: {stream: [{times: 0, data: a}]}}
- endpoint: {path: /plain, response: {body: a}}
`), "--server-timing")
		for path, desc := range map[string]string{"/words": "3 items, complete", "/large": "30000 items, complete", "/empty": "0 items, complete", "/plain": ""} {
			for _, te := range []string{"", "deflate;q=0.5, Trailers"} {
				if Ways[way] == "HTTP/2.0" && te != "" {
					te = "trailers"
				}
				req, err := http.NewRequest("GET", p.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if te != "" {
					req.Header.Set("TE", te)
				}
				resp, err := p.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					t.Error(err)
				}
				_ = resp.Body.Close()
				parts, want := form.FindStringSubmatch(resp.Trailer.Get("Server-Timing")), desc != "" && (te != "" || Ways[way] == "HTTP/2.0")
				if want != (parts != nil) || want && parts[2] != desc || resp.Header.Get("Server-Timing") == "" {
					t.Errorf("%s %s %s with TE %q: the trailer is %v, the header %v", way, resp.Proto, path, te, resp.Trailer, resp.Header)
				} else if want && path == "/words" {
					if dur, err := strconv.ParseFloat(parts[1], 64); err != nil || dur < 22 {
						t.Errorf("%s: the stream took %v ms, %v", way, dur, err)
					}
				}
			}
		}
	}
}

// If making a response takes longer than the latency, the request holds its place for that long:
// the next request waits for that time, and its response says so.
func TestServerTiming_APlaceIsHeldForAsLongAsTheWorkTakes(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(100 * time.Millisecond) // the duration of the work
		<-timer.C
		_, _ = io.WriteString(w, "{}")
	}))
	defer upstream.Close()
	p := Serving(t, "- endpoint: {path: /slow, response: {external-body: {provider: json, path: \""+upstream.URL+"\", ttl: 0}}, latency: {min-ms: 1, max-ms: 1}, capacity: {concurrent: 1, queue: 5}}\n", "--server-timing")
	declared := regexp.MustCompile(`^declared;dur=([0-9.]+),`)
	harness.Until(t, "a request waits while another is served", func() bool {
		waits := make(chan float64, 2)
		for range 2 {
			go func() {
				waited := -1.0
				if parts := declared.FindStringSubmatch(p.Get("/slow").Header.Get("Server-Timing")); parts != nil {
					waited, _ = strconv.ParseFloat(parts[1], 64) // the expression matches only numbers
				}
				waits <- waited
			}()
		}
		return max(<-waits, <-waits) > 50
	})
}
