package serve

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/config/policy"
	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// asking returns a request to a path from an address, with headers given as "Name: value".
func asking(path, from string, headers ...string) *wire.Exchange {
	client := &located{address: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}
	x := &wire.Exchange{Conn: wire.New(nil, nil).Adopt(client)}
	x.Request.SetRequestURI(path)
	x.Request.Header.SetHost("mock.test")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		x.Request.Header.Add(name, value)
	}
	return asReceived(x)
}

// located is the connection of a client with an address.
type located struct {
	script
	address net.Addr
}

func (l *located) RemoteAddr() net.Addr { return l.address }

// serveAt serves a request, and returns the status of the answer.
func serveAt(s *testServer, ctx *wire.Exchange) (status int) {
	_ = s.Serve(ctx)
	return ctx.Response.StatusCode()
}

func limited(by string) string {
	return fmt.Sprintf(`- endpoint: {path: "/x/:id|int", response: {body: ok}, rate-limit: {max-requests: 1, key-fn: %s}}`, by)
}

// Requests with the same key count as one client; requests with different keys do not.
func TestLimiter_Keys(t *testing.T) {
	const a, b = "192.0.2.1:1000", "192.0.2.2:1000"
	type request = *wire.Exchange
	for _, c := range []struct {
		name, by   string
		forwarded  bool
		one, other request
		same       bool
	}{
		{"one address, two ports", "remote-addr", false, asking("/x/1", a), asking("/x/2", "192.0.2.1:2000"), true},
		{"two addresses", "remote-addr", false, asking("/x/1", a), asking("/x/1", b), false},
		{"an address of IPv4 seen as one of IPv6", "remote-addr", false, asking("/x/1", a), asking("/x/1", "[::ffff:192.0.2.1]:1"), true},
		{"two addresses of IPv6", "remote-addr", false, asking("/x/1", "[2001:db8::1]:1"), asking("/x/1", "[2001:db8::2]:1"), false},
		{"a forged address", "remote-addr", false, asking("/x/1", a), asking("/x/1", a, "X-Forwarded-For: 203.0.113.9"), true},
		{"a forwarded address", "remote-addr", true, asking("/x/1", a), asking("/x/1", a, "X-Forwarded-For: 203.0.113.9"), false},
		{"one forwarded address over two proxies", "remote-addr", true, asking("/x/1", a, "X-Forwarded-For: 203.0.113.9, 10.0.0.1"), asking("/x/1", b, "X-Forwarded-For: 203.0.113.9:77"), true},
		{"the forwarded value is not an address", "remote-addr", true, asking("/x/1", a, "X-Forwarded-For: unknown, 203.0.113.9"), asking("/x/1", a), true},
		{"one host, in two spellings", "host", false, asking("/x/1", a, "Host: a.test"), asking("/x/1", b, "Host: A.test:80"), true},
		{"two hosts", "host", false, asking("/x/1", a, "Host: a.test"), asking("/x/1", a, "Host: b.test"), false},
		{"one header, two addresses", "api-key", false, asking("/x/1", a, "Api-Key: k"), asking("/x/1", b, "API-KEY: k"), true},
		{"two headers", "api-key", false, asking("/x/1", a, "Api-Key: k"), asking("/x/1", a, "Api-Key: l"), false},
		{"two headers, by their long name", "header-params.api-key", false, asking("/x/1", a, "Api-Key: k"), asking("/x/1", a, "Api-Key: l"), false},
		{"no header", "api-key", false, asking("/x/1", a), asking("/x/1", b), true},
		{"no header, and an empty one", "api-key", false, asking("/x/1", a), asking("/x/1", b, "Api-Key: "), true},
		{"no header, and one", "api-key", false, asking("/x/1", a), asking("/x/1", a, "Api-Key: k"), false},
		{"one query parameter, in two spellings", "query-params.q", false, asking("/x/1?q=a%20b", a), asking("/x/1?z=1&q=a+b", b), true},
		{"two query parameters", "query-params.q", false, asking("/x/1?q=a", a), asking("/x/1?q=b", a), false},
		{"one path parameter", "path-params.id", false, asking("/x/1", a), asking("/x/1/", b), true},
		{"two path parameters", "path-params.id", false, asking("/x/1", a), asking("/x/2", a), false},
		{"two long headers that differ at their end", "api-key", false,
			asking("/x/1", a, "Api-Key: "+strings.Repeat("k", 50_000)+"a"), asking("/x/1", a, "Api-Key: "+strings.Repeat("k", 50_000)+"b"), false},
	} {
		s := newServer(t, compile.Options{TrustForwarded: c.forwarded}).serving(t, config.Parse("m.yml", []byte(limited(c.by))))
		first, second := serveAt(s, c.one), serveAt(s, c.other)
		if want := map[bool]int{true: 429, false: 200}[c.same]; first != 200 || second != want {
			t.Errorf("%s: got %d and %d, want 200 and %d", c.name, first, second, want)
		}
	}
}

// Every answer tells the client its current limits, whatever the status.
func TestLimiter_Headers(t *testing.T) {
	s := configured(t, `
- endpoint: {path: /ok, response: {body: ok}, rate-limit: {max-requests: 3, window-ms: 60000}}
- endpoint: {path: /own, response: {headers: {x-ratelimit-limit: mine, X-RateLimit-Reset: never}}, rate-limit: {max-requests: 3}}
- endpoint: {path: /gone, response: {external-body: {provider: json, path: "http://127.0.0.1:1/"}}, rate-limit: {max-requests: 3}}
- endpoint: {path: /full, response: {body: ok}, rate-limit: {max-requests: 3}, capacity: {concurrent: 1}}
- endpoint: {path: /failing, response: {body: ok}, rate-limit: {max-requests: 3}, latency: {failure-rate: 1}}
- endpoint: {path: /free, response: {body: ok}}
`)
	for i := range s.snapshot.Load().Responses {
		if r := s.snapshot.Load().Responses[i].Rules; r != nil && r.Capacity != nil {
			occupy(s, i)
		}
	}
	for _, c := range []struct {
		path             string
		status           int
		limit, remaining string
	}{
		{"/ok", 200, "3", "2"}, {"/ok", 200, "3", "1"}, {"/ok", 200, "3", "0"}, {"/ok", 429, "3", "0"},
		{"/own", 200, "mine", "2"}, {"/gone", 502, "3", "2"}, {"/full", 503, "3", "2"}, {"/failing", 500, "3", "2"}, {"/free", 200, "", ""},
	} {
		ctx := asking(c.path, "192.0.2.1:1")
		before := time.Now().Unix()
		status := serveAt(s, ctx)
		got := map[string][]string{}
		for name, value := range ctx.Response.Header.All() {
			got[strings.ToLower(string(name))] = append(got[strings.ToLower(string(name))], string(value))
		}
		limit, remaining := strings.Join(got["x-ratelimit-limit"], "|"), strings.Join(got["x-ratelimit-remaining"], "|")
		if status != c.status || limit != c.limit || remaining != c.remaining {
			t.Errorf("%s: got %d, %q, %q, want %d, %q, %q", c.path, status, limit, remaining, c.status, c.limit, c.remaining)
		}
		if c.path == "/ok" {
			reset, _ := strconv.ParseInt(strings.Join(got["x-ratelimit-reset"], "|"), 10, 64)
			if reset < before+60 || reset > time.Now().Unix()+61 {
				t.Errorf("the reset is in %d s, want 60", reset-before)
			}
		}
		if c.status == 429 {
			wait, err := strconv.Atoi(strings.Join(got["retry-after"], "|"))
			if err != nil || wait < 1 || wait > 60 || !strings.Contains(string(ctx.Response.Body()), `"error":"Rate limit exceeded","code":"rate_limited"`) {
				t.Errorf("got Retry-After %v, %s", got["retry-after"], ctx.Response.Body())
			}
		}
	}
	ctx := asking("/own", "192.0.2.1:1")
	serveAt(s, ctx)
	if got := ctx.Response.Header.String(); strings.Count(strings.ToLower(got), "x-ratelimit-reset") != 1 || !strings.Contains(got, "X-RateLimit-Remaining: 1\r\n") {
		t.Errorf("got %s", got)
	}
}

// Requests that the endpoint answers count, among them HEAD requests answered by a GET endpoint;
// requests that the server answers by itself do not.
func TestLimiter_WhatCounts(t *testing.T) {
	s := configured(t, `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 2}}`)
	for i, c := range []struct {
		method string
		status int
	}{{"OPTIONS", 200}, {"POST", 405}, {"HEAD", 200}, {"OPTIONS", 200}, {"GET", 200}, {"GET", 429}, {"HEAD", 429}, {"OPTIONS", 200}} {
		ctx := asking("/x", "192.0.2.1:1")
		ctx.Request.Header.SetMethod(c.method)
		if got := serveAt(s, ctx); got != c.status {
			t.Errorf("request %d, %s: got %d, want %d", i, c.method, got, c.status)
		}
	}
}

// A reload that does not change the endpoint and its limit keeps counting, whatever else it
// changes; a refused reload changes nothing.
func TestLimiter_Reload(t *testing.T) {
	const was = `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 2}}`
	for _, c := range []struct {
		name, now string
		status    int
	}{
		{"the same", was, 429},
		{"another answer", `- endpoint: {path: /x, response: {status: 200, body: other}, latency: {min-ms: 0, max-ms: 0}, rate-limit: {max-requests: 2}}`, 429},
		{"after another endpoint", "- endpoint: {path: /y, response: {}, rate-limit: {max-requests: 2}}\n" + was, 429},
		{"after one with the same path", "- endpoint: {path: /x, if: query-params.a = b, response: {}, rate-limit: {max-requests: 2}}\n" + was, 429},
		{"the defaults spelt out", `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 2, window-ms: 900000, algorithm: sliding-window}}`, 429},
		{"another limit", `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 3}}`, 200},
		{"another window", `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 2, window-ms: 1000}}`, 200},
		{"another algorithm", `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 2, algorithm: token-bucket}}`, 200},
		{"another key", `- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 2, key-fn: host}}`, 200},
		{"another path", `- endpoint: {path: /:x, response: {body: ok}, rate-limit: {max-requests: 2}}`, 200},
	} {
		s := configured(t, was)
		for range 2 {
			serveAt(s, asking("/x", "192.0.2.1:1"))
		}
		if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: nothing}"))); err == nil {
			t.Fatal("an invalid configuration was applied")
		}
		if err := s.Apply(config.Parse("m.yml", []byte(c.now))); err != nil {
			t.Fatal(c.name, err)
		}
		if got := serveAt(s, asking("/x", "192.0.2.1:1")); got != c.status {
			t.Errorf("%s: got %d, want %d", c.name, got, c.status)
		}
	}
	// Two endpoints with the same declaration have separate limits, before and after the reload.
	s := configured(t, was)
	s.compiler.Carried.Begin()
	spec := config.Parse("m.yml", []byte(was))
	o := traffic.Options{Carried: &s.compiler.Carried, Log: s.Log}
	if a, b := traffic.NewLimiter(&spec.Endpoints[0], nil, o), traffic.NewLimiter(&spec.Endpoints[0], nil, o); a == b {
		t.Error("two endpoints share a limit")
	}
}

func TestAllocations_OfRateLimits(t *testing.T) {
	for _, c := range []struct {
		by      string
		headers []string
	}{
		{"remote-addr", []string{"X-Forwarded-For: [2001:db8::1]:80, 10.0.0.1"}}, {"host", nil}, {"api-key", []string{"Api-Key: secret"}},
		{"query-params.q", nil}, {"path-params.id", nil},
	} {
		for _, algorithm := range policy.LimitAlgorithms {
			s := newServer(t, compile.Options{TrustForwarded: true}).serving(t, config.Parse("m.yml", []byte(fmt.Sprintf(
				`- endpoint: {path: "/x/:id", response: {body: ok}, rate-limit: {max-requests: 100000, key-fn: %s, algorithm: %s}}`, c.by, algorithm))))
			ctx := asking("/x/1?q=a%20b", "192.0.2.1:1", c.headers...)
			l := s.snapshot.Load().Responses[0].Rules
			r := matcher.Acquire(matcher.Input{
				Method: []byte("GET"), Target: ctx.Request.Header.RequestURI(), Host: ctx.Request.Header.Host(), Header: ctx.Request.Header.RawHeaders(),
				Remote: ctx.Conn.RemoteAddr(),
			})
			defer matcher.Release(r)
			var p reply.Reply
			p.Begin()
			admitted := false
			got := testing.AllocsPerRun(1000, func() {
				var st traffic.LimitResult
				st, admitted = l.Admit(r, &p, new(record.Trace))
				p.Begin()
				st.Write(&p)
			})
			if !admitted || got > 0 {
				t.Errorf("%s by %s: admitted %v, with %v allocations, want none", algorithm, c.by, admitted, got)
			}
		}
	}
}
