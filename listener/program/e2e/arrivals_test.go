package e2e_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// arrived contains the fields of arrivals in a report that these tests examine.
type arrived struct {
	Arrivals struct {
		Arrivals, Openers, Overlapping int
		PerConnection                  float64 `json:"per_connection"`
		Pattern                        string
		Schedule                       *struct {
			Rate     float64
			Process  string
			ErrorP50 struct{ Samples int } `json:"error_p50"`
		}
	}
	Total struct{ Idle struct{ Count int } }
}

// exchangeOver sends requests at once over a connection, and reads as many responses.
func exchangeOver(t *testing.T, conn net.Conn, requests string, n int) {
	t.Helper()
	in := bufio.NewReader(conn)
	if _, err := io.WriteString(conn, requests); err != nil {
		t.Fatal(err)
	}
	for range n {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != 101 {
			_, _ = io.Copy(io.Discard, response.Body) // a shorter body is another test's subject
		}
	}
}

// Whatever the protocol, a request arrives once: plain ones, those that wait without a goroutine, pipelined ones, those that fasthttp reads,
// refused ones, handshakes of WebSockets and the streams of HTTP/2.
func TestArrivals_OfAllKindsOfRequests(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, `
- endpoint: {path: /fixed, response: {body: x}}
- endpoint: {path: /wait, latency: {min: 20ms, max: 20ms}, response: {body: x}}
- endpoint: {path: /wait-longer, latency: {min: 150ms, max: 150ms}, response: {body: x}}
- websocket: {path: /ws}
`)
	if got := a.Do("POST", "/__admin/runs", `{"schedule": {"rate": 1000}}`); got.Status != 201 {
		t.Fatal(got)
	}
	const end = " HTTP/1.1\r\nHost: x\r\n\r\n"
	twice := p.Dial()
	later := p.Dial()
	for range 2 {
		exchangeOver(t, twice, "GET /fixed"+end, 1)
		exchangeOver(t, later, "GET /wait-longer"+end, 1)
	}
	exchangeOver(t, p.Dial(), strings.Repeat("GET /wait"+end, 3), 3)
	exchangeOver(t, p.Dial(), "GET /fixed HTTP/1.0\r\n\r\n", 1)
	exchangeOver(t, p.Dial(), "invalid\r\n\r\n", 1)
	exchangeOver(t, p.Dial(), "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", 1)
	client := http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
	client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	get := func(path string) {
		response, err := client.Get(p.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		_ = response.Body.Close() // its error does not matter
	}
	get("/fixed")
	var both sync.WaitGroup
	both.Go(func() { get("/wait") })
	both.Go(func() { get("/wait") })
	both.Wait()

	var report arrived
	a.Do("POST", "/__admin/runs/1/stop", "").Into(t, 200, &report)
	got := report.Arrivals
	// Both streams may come one after the other on a slow machine.
	if got.Arrivals != 13 || got.Openers != 7 || got.Overlapping+report.Total.Idle.Count != 6 || got.Overlapping < 2 {
		t.Errorf("%d requests of %d connections, %d overlapping and %d after an idle time; want 13, 7, 3 and 3", got.Arrivals, got.Openers, got.Overlapping, report.Total.Idle.Count)
	}
	if got.Schedule == nil || got.Schedule.Process != "constant" || got.Schedule.ErrorP50.Samples == 0 || got.Pattern != "unclear" {
		t.Errorf("%+v", got)
	}
	metrics := Scrape(t, a)
	for name, want := range map[string]float64{"arrivals_total": 13, "connection_first_requests_total": 7} {
		if n := Value(t, metrics, "mockserver_"+name); n != want {
			t.Errorf("%s is %v, want %v", name, n, want)
		}
	}
	if page := a.Get("/__admin/runs/1/report").Body; !strings.Contains(page, "What the load generator did") || !strings.Contains(page, "1,000 a second, constant") {
		t.Error("the page of the report does not have the arrivals")
	}
}

func TestArrivals_InvalidSchedules(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"))
	for body, want := range map[string]string{
		`{"schedule": {}}`:                                   "schedule.rate is 0; expected a number of requests a second, from 10 to 10000000",
		`{"schedule": {"rate": 9}}`:                          "schedule.rate is 9; expected",
		`{"schedule": {"rate": 1e8}}`:                        "schedule.rate is 1e+08; expected",
		`{"schedule": {"rate": 50, "process": "metronome"}}`: `schedule.process is "metronome"; expected constant or poisson`,
		`{"schedule": {"rate": "50"}}`:                       "schedule.rate",
		`{"schedule": {"rate": 50, "burst": 3}}`:             "burst",
	} {
		got := a.Do("POST", "/__admin/runs", body)
		got.Refusal(t, 400, "invalid_body")
		var refusal struct{ Message string }
		if got.Into(t, 400, &refusal); !strings.Contains(refusal.Message, want) {
			t.Errorf("%s: %s, want %q", body, refusal.Message, want)
		}
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`--rate: "9"`, []string{"--rate", "9"}},
		{`--process: "even"`, []string{"--rate", "50", "--process", "even"}},
		{"--process: missing --rate; expected both, or only --rate", []string{"--process", "poisson"}},
	} {
		if code, _, stderr := Refused(t, nil, append(append([]string{"run"}, c.args...), "--", "true")...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %q; want %q", c.args, code, stderr, c.want)
		}
	}
}
