package listener_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

// An endpoint keeps its counts when its answer changes, and an endpoint that is declared twice
// counts as two.
func TestCounts_KnowEndpointsAcrossReloads(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", []byte("- endpoint: {path: /a, response: {body: one}}\n- endpoint: {path: /b, if: query-params.x, response: {}}\n- endpoint: {path: /b, response: {}}\n")),
		listener.Options{Record: &record.Options{}})
	ask := func() {
		for _, path := range []string{"/a", "/b", "/b?x=1"} {
			response(t, dial(t, server, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"))
		}
	}
	ask()
	before := server.Counts()
	if err := server.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /new, response: {}}\n- endpoint: {path: /b, response: {status: 201}}\n- endpoint: {path: /a, response: {status: 202}}\n"))); err != nil {
		t.Fatal(err)
	}
	ask()
	after := server.Counts()
	declared := record.Endpoints(server.Spec())
	for i, want := range []struct {
		endpoint string
		before   int // its index before the reload
		statuses map[int]uint64
	}{{"GET /new", -1, map[int]uint64{}}, {"GET /b", 2, map[int]uint64{200: 1, 201: 2}}, {"GET /a", 0, map[int]uint64{200: 1, 202: 1}}} {
		got := after.Endpoints[i]
		if got.Endpoint != want.endpoint || !maps.Equal(got.Statuses, want.statuses) || got.ID != declared[i].ID || got.ID != server.Endpoints()[i].ID ||
			want.before >= 0 && got.ID != before.Endpoints[want.before].ID {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if after.Gone.Requests != 1 || before.Endpoints[1].ID == before.Endpoints[2].ID {
		t.Errorf("removed endpoints have %d requests; two endpoints with the same path are %s and %s", after.Gone.Requests, before.Endpoints[1].ID, before.Endpoints[2].ID)
	}
}

// A server that does not record returns empty results, and all its methods may be called.
func TestCounts_OfAServerThatDoesNotRecord(t *testing.T) {
	server := unrecorded(t, kept)
	response(t, dial(t, server, "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"))
	c := server.Counts()
	v, err := server.Verify("method = GET")
	if len(c.Endpoints) != 0 || c.Connections != 1 || server.Journal() != nil || server.Unmatched() != nil || v.Exact || !errors.Is(err, record.ErrNotRecorded) {
		t.Errorf("got %+v, %+v, %v", c, v, err)
	}
	server.ResetJournal()
	if tally := server.JournalStats(); tally.Bytes != 0 {
		t.Errorf("got %+v", tally)
	}
}

// The declared latency of a request does not count as the server's own time.
func TestCounts_OwnTimeIsWithoutWhatIsInjected(t *testing.T) {
	server := journaling(t, "- endpoint: {path: /late, response: {body: ok}, latency: {min-ms: 30, max-ms: 30}}")
	response(t, dial(t, server, "GET /late HTTP/1.1\r\nHost: a\r\n\r\n"))
	c, x := server.Counts().Endpoints[0], server.Journal()[0]
	if x.Injected != 30*time.Millisecond || x.Took < x.Injected || c.InjectionError.Max != x.Took-x.Injected || c.Injected.Max != 30*time.Millisecond || c.Total.Max != x.Took ||
		c.Service.Max > c.InjectionError.Max || c.Service.Count != 1 || c.Injected.Count != 1 || c.InjectionError.Count != 1 {
		t.Errorf("took %v, injected %v; own %v, injected %v, late %v", x.Took, x.Injected, c.Service.Max, c.Injected.Max, c.InjectionError.Max)
	}
}

// Requests that arrive together are counted one by one. Requests after the last answered one are
// not counted, and malformed input is counted once.
func TestCounts_OfPipelinedRequests(t *testing.T) {
	const three = "GET /fixed HTTP/1.1\r\nHost: a\r\n\r\nGET /users/7 HTTP/1.1\r\nHost: a\r\n\r\n" +
		"POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n{\"n\": 7}"
	plain, _, _ := strings.Cut(counted, "- endpoint: {path: /limited")
	for _, c := range []struct {
		name, text, end string
		fixed, status   int // requests to the first endpoint, and the last status
		malformed       uint64
	}{
		{"read together", plain, "GET /fixed HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /fixed HTTP/1.1\r\nHost: a\r\n\r\n", 101, 200, 0},
		{"read one by one", counted, "GET /fixed HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /fixed HTTP/1.1\r\nHost: a\r\n\r\n", 101, 200, 0},
		{"with one that is malformed", plain, "GET /fixed\r\n\r\nGET /fixed HTTP/1.1\r\nHost: a\r\n\r\n", 100, 400, 1},
		{"one by one with one that is malformed", counted, "GET /fixed\r\n\r\nGET /fixed HTTP/1.1\r\nHost: a\r\n\r\n", 100, 400, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := listenertest.Start(t, config.Parse("m.yml", fmt.Appendf(nil, c.text, 1)), listener.Options{Record: &record.Options{}})
			in := bufio.NewReader(dial(t, server, strings.Repeat(three, 100)+c.end))
			status := 0
			for {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					break // the server has closed the connection
				}
				status = resp.StatusCode
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
			}
			got := server.Counts()
			if status != c.status || got.Endpoints[0].Requests != uint64(c.fixed) || got.Endpoints[1].Requests != 100 || got.Endpoints[2].Statuses[201] != 100 ||
				got.Malformed.Requests != c.malformed || got.Unmatched.Requests != 0 {
				t.Errorf("the last status is %d; the counts are %v, %v, %v, malformed %v", status,
					got.Endpoints[0].Statuses, got.Endpoints[1].Statuses, got.Endpoints[2].Statuses, got.Malformed.Statuses)
			}
		})
	}
}

// A request whose body never arrives is not counted; a request that a shutdown cuts off is counted
// like one whose client left.
func TestCounts_OfRequestsThatAreNotWhole(t *testing.T) {
	server := listenertest.Start(t, config.Parse("m.yml", fmt.Appendf(nil, counted, 1)), listener.Options{Record: &record.Options{}})
	const order = "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n"
	asks := dial(t, server, order+"Expect: 100-continue\r\n\r\n")
	in := bufio.NewReader(asks)
	if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if n := server.Counts().Endpoints[2].Requests; n != 0 {
		t.Errorf("%d requests are counted before the body arrived", n)
	}
	for _, conn := range []io.Closer{asks, dial(t, server, order+"\r\n{\"n\"")} {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	dial(t, server, "GET /late HTTP/1.1\r\nHost: a\r\n\r\n")
	until(t, "one request waits, and the others are known to be malformed", func() bool {
		c := server.Counts()
		return c.InFlight == 1 && c.Malformed.Statuses[400] == 2
	})
	if err := server.Close(); err == nil {
		t.Error("no request was cut off")
	}
	c := server.Counts()
	late := c.Endpoints[10]
	if c.Endpoints[2].Requests != 0 || c.Malformed.Requests != 2 || late.Endpoint != "GET /late" || !maps.Equal(late.Statuses, map[int]uint64{499: 1}) ||
		late.Service.Count != 0 || late.Injected.Count != 0 || c.InFlight != 0 {
		t.Errorf("orders %v, malformed %v, late %v of %s, %d in flight", c.Endpoints[2].Statuses, c.Malformed.Statuses, late.Statuses, late.Endpoint, c.InFlight)
	}
}

// Percentiles of the response time are within 1 % of those computed from the journal, which has
// every request of every connection.
func TestCounts_PercentilesAreThoseOfTheRequests(t *testing.T) {
	const clients, each = 16, 400
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- endpoint: {path: /fixed, response: {body: ok}}
- endpoint: {path: "/users/:id", response: {body: "{{path-params.id}}"}}
- endpoint: {path: /late, response: {body: ok}, latency: {min-ms: 0, max-ms: 3}}
- endpoint: {path: /narrow, response: {body: ok}, capacity: {concurrent: 2, queue: 100}}
`)), listener.Options{Record: &record.Options{Journal: record.JournalOptions{Sample: 1, Bytes: 64 << 20}}})
	var all sync.WaitGroup
	for g := range clients {
		all.Go(func() {
			c := client{address: server.Addr().String(), tallied: newTallied()}
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range each {
				if err := c.get([]string{"/fixed", "/users/7", "/late", "/narrow"}[rng.IntN(4)]); err != nil {
					t.Error(err)
					break
				}
			}
			_ = c.end()
		})
	}
	all.Wait()
	took := map[string][]time.Duration{}
	for _, x := range server.Journal() {
		took[x.EndpointID] = append(took[x.EndpointID], x.Took)
	}
	for _, e := range server.Counts().Endpoints {
		truth := took[e.ID]
		slices.Sort(truth)
		if e.Total.Count != uint64(len(truth)) || e.Service.Count != e.Total.Count || len(truth) < clients*each/5 {
			t.Fatalf("%s: %d are counted, %d kept", e.Endpoint, e.Service.Count, len(truth))
		}
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999, 1} {
			want := truth[max(int(math.Ceil(q*float64(len(truth)))), 1)-1]
			if got := e.Total.Quantile(q); math.Abs(float64(got-want)) > 0.01*float64(want) {
				t.Errorf("%s: quantile %v is %v, want %v", e.Endpoint, q, got, want)
			}
		}
	}
}

// An endpoint that one reload removes and another restores is counted from 0 again: none of its
// counts are from before.
func TestBusiest_AnEndpointThatWasAwayIsANewOne(t *testing.T) {
	server := listenertest.Start(t, config.New(config.Endpoint{Path: "/a"}), listener.Options{})
	with := server.Spec()
	ask := func(times int) {
		for range times {
			response(t, dial(t, server, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"))
		}
	}
	ask(3)
	before := server.Counts()
	for _, spec := range []*config.Spec{config.New(), with} {
		if err := server.Apply(spec); err != nil {
			t.Fatal(err)
		}
	}
	ask(5)
	after := server.Counts()
	busiest := record.Busiest(&before, &after, 0)
	if len(busiest) != 1 || busiest[0].Requests != 5 || busiest[0].Statuses[200] != 5 || busiest[0].Service.Count != 5 {
		t.Errorf("got %+v, want the 5 requests since it is back", busiest)
	}
}

// A client that resets its connection before it has its answer counts once.
func TestCounts_OfClientsThatReset(t *testing.T) {
	server := listenertest.Start(t, config.Parse("a.yml", []byte("- endpoint: {path: /a, response: {body: text}}\n")), listener.Options{Record: &record.Options{}})
	const clients = 300
	for range clients {
		conn, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(conn, toGet("/a")); err == nil {
			err = conn.(*net.TCPConn).SetLinger(0)
		}
		if err = errors.Join(err, conn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var c record.Counts
	until(t, "all connections are closed", func() bool {
		c = server.Counts()
		return c.Connections == 0 && c.InFlight == 0
	})
	if n := c.Endpoints[0].Requests; c.Malformed.Requests != 0 || n > clients {
		t.Errorf("%d requests and %d malformed ones are counted, of %d", n, c.Malformed.Requests, clients)
	}
}

// A request whose row another one takes first matches nothing any more, and counts as that.
func TestCounts_OfRequestsWhoseRowsAreTaken(t *testing.T) {
	t.Parallel()
	const clients, each = 8, 300
	var rows strings.Builder
	for i := range each {
		fmt.Fprintf(&rows, "{id: %d, free: true}, ", i)
	}
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- data: {name: rows, rows: [`+rows.String()+`]}
- endpoint: {method: POST, path: /claim/:id, find: {row: {in: rows, key: path-params.id}}, if: row.free = true, do: [{merge: {in: rows, key: path-params.id, with: {free: false}}}], response: {body: taken}}
`)), listener.Options{Record: &record.Options{}})
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range each {
				resp, err := http.Post(fmt.Sprint(server.URL(), "/claim/", i), "text/plain", strings.NewReader("x"))
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			}
		})
	}
	all.Wait()
	c := server.Counts()
	if got := c.Endpoints[0]; got.Requests != each || got.Statuses[200] != each || c.Unmatched.Requests != (clients-1)*each {
		t.Errorf("got %+v, and %+v unmatched; want %d and %d", got, c.Unmatched, each, (clients-1)*each)
	}
}

// A response that is complete does not wait for the next request of its connection, even if that one
// waits where nothing can tell: for the TLS handshake of an upstream.
func TestConnection_WhatIsReadyIsSentFirst(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // never answers a handshake
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	server := listenertest.Start(t, config.Parse("m.yml", []byte(`
- upstream: {name: silent, url: "https://`+silent.Addr().String()+`", timeout: 1m}
- endpoint: {path: /fixed, response: {body: ready}}
- endpoint: {path: /passed, response: {proxy: silent}}
`)), listener.Options{})
	conn := dial(t, server, "GET /fixed HTTP/1.1\r\nHost: a\r\n\r\nGET /passed HTTP/1.1\r\nHost: a\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(40 * time.Second)) // less than the upstream has
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("got %v, %v", resp, err)
	}
	conn.Close()
}
