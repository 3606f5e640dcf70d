package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// An answer is never sent before its latency is over, in whatever form the latency is declared,
// and the connection stays open.
func TestLatency_NoReplyComesBeforeItsTime(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {path: /fixed, latency: {min: 60ms}, response: {body: fixed}}
- endpoint: {path: /uniform, latency: {min-ms: 40, max-ms: 50}, response: {body: "{{path}}"}}
- endpoint: {path: /curve, latency: {min: 30ms, p50: 40ms, max: 60ms}, response: {body: curve}}
- endpoint: {path: /lognormal, latency: {median: 50ms, sigma: 0}, response: {body: lognormal}}
- endpoint: {method: OPTIONS, path: /options, latency: {min: 30ms}, response: {body: options}}
- endpoint: {method: POST, path: /body, latency: {min: 30ms}, response: {body: "{{body}}"}}
`)
	for range 3 { // over one or a few connections
		for _, c := range []struct {
			method, path, sent, want string
			least                    time.Duration
		}{
			{"GET", "/fixed", "", "fixed", 60 * time.Millisecond},
			{"HEAD", "/fixed", "", "", 60 * time.Millisecond},
			{"GET", "/uniform", "", "/uniform", 40 * time.Millisecond},
			{"GET", "/curve", "", "curve", 30 * time.Millisecond},
			{"GET", "/lognormal", "", "lognormal", 50 * time.Millisecond},
			{"OPTIONS", "/options", "", "options", 30 * time.Millisecond},
			{"POST", "/body", strings.Repeat("x", 100_000), strings.Repeat("x", 100_000), 30 * time.Millisecond},
		} {
			begun := time.Now()
			a := p.Do(c.method, c.path, c.sent, "Origin: https://a.test")
			if took := time.Since(begun); a.Status != 200 || a.Body != c.want || took < c.least {
				t.Errorf("%s %s: got %d %.20s after %v, want 200 %.20s after %v", c.method, c.path, a.Status, a.Body, took, c.want, c.least)
			}
			if a.Header.Get("Access-Control-Allow-Origin") != "*" || c.method == "OPTIONS" && a.Header.Get("Allow") != "OPTIONS" {
				t.Errorf("%s %s: got the headers %v", c.method, c.path, a.Header)
			}
		}
	}
}

func TestLatency_FailuresAndTimeOuts(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	hook := fmt.Sprintf("webhook: {url: '%s/sent', method: POST, sleep-time: 0}", target.URL)
	p := Serving(t, `
- endpoint: {path: /fails, latency: {min: 20ms, failure-rate: 1}, response: {status: 201, headers: {X-A: b}, body: fine}, `+hook+`}
- endpoint: {path: /late, latency: {timeout-rate: 100%, timeout: 40ms}, response: {body: fine}, `+hook+`}
- endpoint: {path: /fine, latency: {max: 1ms, failure-rate: 0}, response: {body: fine}, `+hook+`}
`)
	for _, c := range []struct {
		path   string
		status int
		code   string
		least  time.Duration
	}{{"/fails", 500, "injected_failure", 20 * time.Millisecond}, {"/late", 504, "injected_timeout", 40 * time.Millisecond}} {
		begun := time.Now()
		a := p.Get(c.path, "Origin: https://a.test")
		took := time.Since(begun)
		var body struct{ Error, Code, Message string }
		if err := json.Unmarshal([]byte(a.Body), &body); err != nil || a.Status != c.status || body.Code != c.code || body.Error == "" || !strings.Contains(body.Message, c.path) {
			t.Errorf("%s: got %d %s, want %d %s", c.path, a.Status, a.Body, c.status, c.code)
		}
		if h := a.Header; h.Get("Content-Type") != "application/json" || h.Get("X-A") != "" || h.Get("Access-Control-Allow-Origin") != "*" || took < c.least {
			t.Errorf("%s: got the headers %v after %v", c.path, h, took)
		}
	}
	p.Get("/fine").Want(t, 200, "fine")
	target.Next(t)
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "webhooks", "delivered=1 ") // only the webhook of the answer without a fault
	if code := p.Exit(); code != 0 {
		t.Errorf("got exit code %d", code)
	}
	if strings.Contains(strings.Join(p.Output(), "\n"), "server error") {
		t.Error("an injected failure is logged as a failure of the server")
	}
}

// waiting is a request that was sent, with its connection and its answer.
type waiting struct {
	conn     net.Conn
	response chan int // the status; 0 if there was no answer
}

func wait(t *testing.T, p *Process, path string) *waiting {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err == nil {
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the test may have closed it already
	w := &waiting{conn, make(chan int, 1)}
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			w.response <- 0
			return
		}
		w.response <- resp.StatusCode
		_ = resp.Body.Close() // only the status matters
	}()
	return w
}

// Only one request at a time is served: of two requests, one waits for its latency and the other
// is refused, whichever arrives first. When the client of the waiting request leaves, its place is
// freed, so that one of the next two requests waits again. No webhook is sent for a client that
// has left.
func TestLatency_AClientThatLeavesLeavesNothing(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, `
- endpoint:
    path: /slow
    latency: {min: 1h}
    capacity: {concurrent: 1}
    response: {body: slow}
    webhook: {url: '`+target.URL+`', method: POST, sleep-time: 0}
`, "--access-log")
	for i := range 3 {
		n := len(p.Output())
		a, b := wait(t, p, "/slow"), wait(t, p, "/slow")
		refused, left := 0, a
		select {
		case refused = <-a.response:
			left = b
		case refused = <-b.response:
		case <-time.After(harness.Patience):
			t.Fatalf("round %d: both requests wait", i)
		}
		if refused != 503 {
			t.Errorf("round %d: got %d for one request too many, want 503", i, refused)
		}
		_ = left.conn.Close() // this is what the test is about
		p.WaitLine(n, "request", "uri=/slow", "status=499")
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 0 {
		t.Errorf("got exit code %d, want 0: no request is waiting any more", code)
	}
	if output := strings.Join(p.Output(), "\n"); strings.Contains(output, "delivered=") || len(target.Got) > 0 {
		t.Errorf("a webhook was sent for a request without an answer:\n%s", output)
	}
}

// A shutdown waits for requests that wait for their latency, as for all other requests in
// progress: for the grace period.
func TestLatency_TheEndOfTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		latency, grace string
		status, code   int
	}{{"500ms", "20s", 200, 0}, {"1h", "100ms", 0, 1}} {
		p := Serving(t, fmt.Sprintf(`
- endpoint: {path: /slow, latency: {min: %s}, capacity: {concurrent: 1}, response: {body: slow}}
`, c.latency), "--grace", c.grace)
		a, b := wait(t, p, "/slow"), wait(t, p, "/slow")
		waits := a
		select { // once one request is refused, the other is waiting
		case <-a.response:
			waits = b
		case <-b.response:
		case <-time.After(harness.Patience):
			t.Fatal("both requests wait")
		}
		p.Signal(syscall.SIGTERM)
		if got := <-waits.response; got != c.status {
			t.Errorf("latency %s, grace %s: got %d, want %d", c.latency, c.grace, got, c.status)
		}
		if code := p.Exit(); code != c.code {
			t.Errorf("latency %s, grace %s: got exit code %d, want %d", c.latency, c.grace, code, c.code)
		}
	}
}

// A request that waits during a reload is answered from the configuration in which it was matched.
func TestLatency_AReloadMeanwhile(t *testing.T) {
	t.Parallel()
	const slow = "- endpoint: {path: /slow, latency: {min: %s}, capacity: {concurrent: 1}, response: {status: %d}}\n"
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", fmt.Sprintf(slow, "3s", 201))
	p := Start(t, "-c", file)
	a, b := wait(t, p, "/slow"), wait(t, p, "/slow")
	waits := a
	select {
	case <-a.response:
		waits = b
	case <-b.response:
	case <-time.After(harness.Patience):
		t.Fatal("both requests wait")
	}
	harness.WriteFile(t, filepath.Dir(file), "mock.yml", strings.Replace(fmt.Sprintf(slow, "1ms", 202), "capacity: {concurrent: 1}, ", "", 1))
	p.WaitLine(0, "configuration reloaded")
	p.Get("/slow").Want(t, 202, "")
	if got := <-waits.response; got != 201 {
		t.Errorf("got %d, want 201, from the previous configuration", got)
	}
}

// Requests that arrive together are answered in order, each at its own time: a fast answer does
// not wait for a slow one after it.
func TestLatency_Pipelined(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {path: "/slow/:id", latency: {min: 100ms}, response: {body: "{{path-params.id}}"}}
- endpoint: {path: /never, latency: {min: 1h}, response: {body: never}}
- endpoint: {path: /fast, response: {body: fast}}
`)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var sent strings.Builder
	want := []string{}
	for i := range 20 {
		fmt.Fprintf(&sent, "GET /slow/%d HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\n\r\n", i)
		want = append(want, fmt.Sprint(i), "fast")
	}
	if _, err := io.WriteString(conn, sent.String()+"GET /never HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	var got []string
	for range want {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutcomes_HaveWebhooksOfTheirOwn(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, strings.ReplaceAll(`
- endpoint:
    method: POST
    path: /orders
    select: sequence
    webhook: {url: "URL/usual", method: POST, sleep-time: 0}
    responses:
      - {body: one}
      - {body: two, webhooks: []}
      - {status: 404, body: three, webhook: {url: "URL/own/{{json-params.id}}", method: POST, sleep-time: 0}}
`, "URL", target.URL))
	for i, want := range []string{"one", "two", "three"} {
		if a := p.Do("POST", "/orders", fmt.Sprintf(`{"id": %d}`, i)); a.Body != want {
			t.Errorf("answer %d is %s, want %s", i, a.Body, want)
		}
	}
	got := []string{target.Next(t).URI, target.Next(t).URI}
	if slices.Sort(got); !slices.Equal(got, []string{"/own/2", "/usual"}) {
		t.Errorf("got the webhooks %q", got)
	}
}

// Two runs with the same seed give each endpoint the same answers, however its clients overlap.
// Another seed gives different answers, and without a seed they differ each time.
func TestSeed_TwoRunsAreAlike(t *testing.T) {
	t.Parallel()
	const configuration = `
- endpoint: {path: /drawn, latency: {max: 2ms, failure-rate: 0.1, timeout-rate: 0.1, timeout: 3ms}, responses: [{weight: 3, body: a}, {status: 404, body: b}, {body: '{{uuid}}'}]}
- endpoint: {path: /made, response: {body: '{{random-int(1, 1000000)}} {{fake("name")}} {{pick("a", "b", "c")}}'}}
- endpoint: {path: /either, if: "random-int(1, 100) > 50", response: {body: 'one {{random}}'}}
- endpoint: {path: /either, response: {body: 'other {{random}}'}}
`
	run := func(args, env []string) map[string][]string {
		file := harness.WriteFile(t, t.TempDir(), "mock.yml", configuration)
		p := Launch(t, env, append([]string{"-c", file}, args...)...).Listening()
		responses := map[string][]string{}
		var mu sync.Mutex // guards answers
		var clients sync.WaitGroup
		for range 8 {
			for _, path := range []string{"/drawn", "/made", "/either"} {
				clients.Go(func() {
					for range 50 {
						a, err := p.Try("GET", path, "")
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						responses[path] = append(responses[path], fmt.Sprint(a.Status, " ", a.Body))
						mu.Unlock()
					}
				})
			}
		}
		clients.Wait()
		for _, some := range responses {
			slices.Sort(some)
		}
		return responses
	}
	first, again := run([]string{"--seed", "7"}, nil), run(nil, []string{"MOCKSERVER_SEED=7"})
	other, none, nor := run([]string{"--seed", "0"}, nil), run(nil, nil), run(nil, nil)
	for path, responses := range first {
		if !slices.Equal(responses, again[path]) {
			t.Errorf("%s: two runs with one seed differ", path)
		}
		if slices.Equal(responses, other[path]) || slices.Equal(none[path], nor[path]) {
			t.Errorf("%s: runs with different seeds, or without, are equal", path)
		}
	}
}

// Without latencies and faults, each request gets the same answer as with them, but immediately
// and completely.
func TestNoLatencyAndNoFaults(t *testing.T) {
	t.Parallel()
	const configuration = `
- endpoint: {path: /drawn, latency: {min: 1ms, failure-rate: 0.2, timeout-rate: 0.2, timeout: 2ms}, responses: [{weight: 3, body: 'a {{random-int(1, 1000)}}'}, {status: 404, body: b}]}
- endpoint: {path: /late, latency: {min: 1h, timeout-rate: 1, timeout: 1h}, response: {body: a}}
- endpoint: {path: /broken, fault: {type: reset}, response: {body: whole}}
- endpoint: {path: /maybe, fault: {type: empty, rate: 0.5}, response: {body: '{{random-int(1, 1000)}}'}}
`
	of := func(p *Process) (responses []string) {
		for range 60 {
			a := p.Get("/drawn")
			responses = append(responses, fmt.Sprint(a.Status, " ", a.Body))
		}
		return responses
	}
	without := Serving(t, configuration, "--seed", "7", "--no-latency", "--no-faults")
	want := of(Serving(t, configuration, "--seed", "7"))
	if got := of(without); !slices.Equal(got, want) {
		t.Errorf("without: %q\nwith:    %q", got, want)
	}
	for _, status := range []string{"200 ", "404 ", "500 ", "504 "} { // otherwise the rates were not tested
		if !slices.ContainsFunc(want, func(a string) bool { return strings.HasPrefix(a, status) }) {
			t.Errorf("%q does not contain %s", want, status)
		}
	}
	if a := without.Get("/late"); a.Status != 504 {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	without.Get("/broken").Want(t, 200, "whole")
	for range 20 {
		if a := without.Get("/maybe"); a.Status != 200 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
	if a, err := Serving(t, configuration, "--no-latency").Try("GET", "/broken", ""); err == nil {
		t.Errorf("with only --no-latency, faults remain: got %d %s", a.Status, a.Body)
	}
}

func TestSeed_IsANumber(t *testing.T) {
	t.Parallel()
	for _, seed := range []string{"", "x", "-1", "1.5", "18446744073709551616"} {
		if code, _, stderr := Refused(t, nil, "--seed="+seed); code != 2 || !strings.Contains(stderr, "--seed") || !strings.Contains(stderr, "18446744073709551615") {
			t.Errorf("%q: got exit code %d and %q", seed, code, stderr)
		}
	}
	p := Serving(t, One("fine"), "--seed", "18446744073709551615")
	p.Get("/a").Want(t, 200, "fine")
}

// The comments of the example state what to expect from each endpoint; a seed makes the shares
// repeatable.
func TestExamples_Latency(t *testing.T) {
	t.Parallel()
	file := File("examples", "latency.yml")
	if code, stdout, stderr := Refused(t, nil, "validate", "-c", file); code != 0 || stderr != "" || strings.Contains(stdout, "warning") {
		t.Errorf("got exit code %d, %q and %q", code, stdout, stderr)
	}
	p := Start(t, "-c", file, "--seed", "42")
	for path, least := range map[string]time.Duration{"/fixed": 100 * time.Millisecond, "/uniform": 20 * time.Millisecond, "/curve": 5 * time.Millisecond, "/lognormal": 0} {
		begun := time.Now()
		if a := p.Get(path); a.Status != 200 || time.Since(begun) < least {
			t.Errorf("%s: got %d after %v", path, a.Status, time.Since(begun))
		}
	}
	for i, want := range []string{`202 {"id":"7","state":"queued"}`, `202 {"id":"7","state":"running"}`, `200 {"id":"7","state":"done"}`, `200 {"id":"7","state":"done"}`} {
		if a := p.Get("/jobs/7"); fmt.Sprint(a.Status, " ", a.Body) != want {
			t.Errorf("request %d: got %d %s, want %s", i, a.Status, a.Body, want)
		}
	}
	for i, want := range []string{"a", "b", "c", "a"} {
		if a := p.Get("/replicas"); a.Body != `{"replica":"`+want+`"}` {
			t.Errorf("replica %d: got %s, want %s", i, a.Body, want)
		}
	}
	// Each case makes 400 requests; the bounds are four standard deviations from the expected counts.
	for _, c := range []struct {
		method, path string
		want         map[int][2]int // the minimum and maximum count of each status
	}{
		{"GET", "/flaky", map[int][2]int{200: {357, 395}, 500: {3, 37}, 504: {0, 11}}},
		{"POST", "/payments", map[int][2]int{201: {340, 386}, 402: {5, 43}, 503: {0, 25}}},
	} {
		got := map[int]int{}
		var mu sync.Mutex // guards got
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() {
				for range 20 {
					a, err := p.Try(c.method, c.path, "")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					got[a.Status]++
					mu.Unlock()
				}
			})
		}
		clients.Wait()
		sum := 0
		for status, bounds := range c.want {
			if sum += got[status]; got[status] < bounds[0] || got[status] > bounds[1] {
				t.Errorf("%s: status %d occurred %d times, want %v", c.path, status, got[status], bounds)
			}
		}
		if sum != 400 {
			t.Errorf("%s: got %v", c.path, got)
		}
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "curl localhost:8000/jobs/7") {
		t.Errorf("the example does not begin with the requests to try: %v", err)
	}
}
