package e2e_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// rawTarget starts a target that answers its n-th connection, counted from 1, with a function,
// after reading a request. It returns the URL of the target.
func rawTarget(t *testing.T, response func(n int, conn net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the test ends either way
	go func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil && r.Body.Close() == nil {
					response(n, conn)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// say writes an answer, or a part of one, by hand.
func say(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) } // the test checks the outcome

// nobody returns an address that refuses connections.
func nobody(t *testing.T) string {
	t.Helper()
	return "http://" + unusedAddresses(t, 1)[0]
}

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// For each kind of answer, or of failure to answer, the test checks how often the webhook is
// tried, three times at most, and what is counted.
func TestWebhook_WhatTargetsDo(t *testing.T) {
	t.Parallel()
	status := func(lines ...string) func(n int, conn net.Conn) {
		return func(n int, conn net.Conn) {
			say(conn, "HTTP/1.1 "+lines[min(n, len(lines))-1]+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		}
	}
	begins := func(text string) func(n int, conn net.Conn) {
		return func(n int, conn net.Conn) {
			if n > 2 {
				text = okResponse
			}
			say(conn, text)
		}
	}
	silent := mute(t)
	late := func(attempt int, final bool) string {
		return fmt.Sprintf(`attempt=%d final=%v error="no answer from %s within 300ms, attempt %d of 3"`, attempt, final, silent, attempt)
	}
	for _, c := range []struct {
		name     string
		response func(n int, conn net.Conn) // nil if url is set
		url      string
		want     string   // in the last line of the log
		failed   []string // what the log says about each failed attempt
	}{
		{"200", status("200 OK"), "", "delivered=1 retried=0 dead=0", nil},
		{"204", status("204 No Content"), "", "delivered=1 retried=0 dead=0", nil},
		{"a redirect is not followed", func(_ int, conn net.Conn) {
			say(conn, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
		}, "", "delivered=1 retried=0 dead=0", nil},
		{"404 is final", status("404 Not Found"), "", "delivered=0 retried=0 dead=1", []string{"attempt=1 final=true status=404"}},
		{"500 twice", status("500 Oops", "500 Oops", "200 OK"), "", "delivered=1 retried=2 dead=0",
			[]string{"attempt=1 final=false status=500", "attempt=2 final=false status=500"}},
		{"429, then 503, then 500", status("429 Slow", "503 Busy", "500 Oops"), "", "delivered=0 retried=2 dead=1",
			[]string{"attempt=1 final=false status=429", "attempt=2 final=false status=503", "attempt=3 final=true status=500"}},
		{"500, then 400", status("500 Oops", "400 Bad"), "", "delivered=0 retried=1 dead=1",
			[]string{"attempt=1 final=false status=500", "attempt=2 final=true status=400"}},
		{"it closes at once", begins(""), "", "delivered=1 retried=2 dead=0", []string{"attempt=1 final=false error=", "attempt=2 final=false error="}},
		{"it closes in the head", begins("HTTP/1.1 200 OK\r\nContent-Le"), "", "delivered=1 retried=2 dead=0", []string{"attempt=1 final=false error=", "attempt=2 final=false error="}},
		// The status has arrived, so the outcome of the webhook is known.
		{"it closes in the body", begins("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "", "delivered=1 retried=0 dead=0", nil},
		{"it closes in the body of a 500", begins("HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc"), "", "delivered=1 retried=2 dead=0",
			[]string{"attempt=1 final=false status=500", "attempt=2 final=false status=500"}},
		{"it does not speak HTTP", begins("220 mail.example.com ESMTP\r\n\r\n"), "", "delivered=1 retried=2 dead=0", []string{"attempt=1 final=false error=", "attempt=2 final=false error="}},
		{"no server is listening", nil, nobody(t), "delivered=0 retried=2 dead=1",
			[]string{"attempt=1 final=false error=", "attempt=2 final=false error=", "attempt=3 final=true error="}},
		{"it never answers", nil, silent, "delivered=0 retried=2 dead=1", []string{late(1, false), late(2, false), late(3, true)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.response != nil {
				c.url = rawTarget(t, c.response)
			}
			timeout := "20s" // targets that answer do so in time, however busy the machine is
			if c.url == silent {
				timeout = "300ms"
			}
			p := Serving(t, WithHook("/a", c.url, ", timeout: "+timeout+", retry: {attempts: 3, backoff: 1ms, max-backoff: 2ms}"))
			p.Do("POST", "/a", "").Want(t, 201, `{"ok":true}`)
			p.Signal(syscall.SIGTERM) // webhooks that are due or retried are sent before the program exits
			if code := p.Exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			p.WaitLine(0, "webhooks "+c.want)
			n := 0
			for _, line := range p.Output() {
				if !strings.Contains(line, "webhook failed") {
					continue
				}
				if n >= len(c.failed) || !strings.Contains(line, `webhook="POST /a" `+c.failed[n]) {
					t.Errorf("got %q as failure %d, want %q", line, n+1, c.failed)
				}
				n++
			}
			if n != len(c.failed) {
				t.Errorf("%d failures are logged, want %d", n, len(c.failed))
			}
		})
	}
}

// Webhooks to a target that never answers do not delay those to another target, which arrive while
// all the others are still waiting.
func TestWebhook_ADeadTargetNextToALiveOne(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // it has many descriptors
	const dead, live = 3000, 100
	target := NewHookTarget(t, nil)
	p := Serving(t, WithHook("/dead", mute(t), ", timeout: 1h")+WithHook("/live", target.URL, ", body: {n: '{{query-params.n}}'}"), "--grace", "10ms")
	for range dead {
		p.Do("POST", "/dead", "")
	}
	got := map[string]bool{}
	for n := range live {
		p.Do("POST", fmt.Sprintf("/live?n=%d", n), "").Want(t, 201, `{"ok":true}`)
	}
	for range live {
		got[target.Next(t).Body] = true
	}
	if len(got) != live {
		t.Errorf("%d of %d arrived", len(got), live)
	}
	target.NothingMore(t, p)
	p.WaitLine(0, "webhooks", fmt.Sprintf("delivered=%d retried=0 dead=0 refused=0 abandoned=%d", live, dead))
}

// An invalid URL that is found only when rendered is logged with the reason and the webhook, and
// counted. It affects neither the response nor other webhooks. A part that may be a password is
// not logged.
func TestWebhook_URLsThatAreNone(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, `- endpoint:
    method: POST
    path: /bad
    response: {status: 201, body: {ok: true}}
    webhook: {method: POST, url: "{{query-params.url}}", sleep-time: 3600, retry: {attempts: 5, backoff: 1h}}
`+WithHook("/host", "http://{{query-params.host}}/x", "")+WithHook("/port", "http://127.0.0.1:{{query-params.port}}/x", "")+
		WithHook("/live", target.URL, ""))
	for _, c := range []struct{ path, shown, why string }{
		{"/bad?url=nonsense", "nonsense", "begins with neither http"},
		{"/bad", `\"\"`, "begins with neither http"},
		{"/bad?url=ftp://a/", "ftp://a/", "begins with neither http"},
		{"/bad?url=http:///x", "http:///x", "names no host"},
		{"/bad?url=http://ann:hunter2@127.0.0.1:99999/", "http://xxxxx@127.0.0.1:99999/", `99999`},
		{"/bad?url=http://a:0/" + strings.Repeat("y", 100), "http://a:0/yyyy", "1 to 65535"},
		{"/host?host=a%20b", "http://a%20b/x", "is not allowed in the name of a host"},
		{"/port?port=", "http://127.0.0.1:/x", ""}, // the default port of the scheme, on which no program listens
		{"/port?port=eighty", "http://127.0.0.1:eighty/x", "1 to 65535"},
	} {
		seen := len(p.Output())
		p.Do("POST", c.path, "").Want(t, 201, `{"ok":true}`)
		if c.why == "" {
			p.WaitLine(seen, "webhook failed", "127.0.0.1:80")
			continue
		}
		path, _, _ := strings.Cut(c.path, "?")
		line := p.WaitLine(seen, "webhook failed", `webhook="POST `+path+`"`, c.shown, c.why, "attempt=1 final=true")
		if len(line) > 300 || strings.Contains(line, "hunter2") {
			t.Errorf("%s: %s", c.path, line)
		}
	}
	p.Do("POST", "/live", "").Want(t, 201, `{"ok":true}`)
	target.Next(t)
	target.NothingMore(t, p)
	p.WaitLine(0, "webhooks", "delivered=1", "dead=9")
}

// One address may serve many hosts: a declared Host is sent, and so are a user's own idempotency
// key and authorization.
func TestWebhook_HeadersOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	own := strings.TrimPrefix(target.URL, "http://")
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	withUser := strings.Replace(target.URL, "http://", "http://user:pa%40ss%3Ax@", 1)
	spec := WithHook("/fixed", target.URL, ", headers: {Host: shop.example.com}") +
		WithHook("/port", target.URL, `, headers: {host: "shop.example.com:8080"}`) +
		WithHook("/templated", target.URL+"/{{query-params.h}}", `, headers: {Host: "{{query-params.h}}.example.com"}`) +
		WithHook("/empty", target.URL, `, headers: {Host: "{{query-params.none}}"}`) +
		WithHook("/none", target.URL, "") +
		WithHook("/key", target.URL, `, headers: {idempotency-key: "{{query-params.h}}"}`) +
		WithHook("/user", withUser, "") +
		WithHook("/users", strings.Replace(target.URL, "http://", "http://{{query-params.u}}:{{query-params.p}}@", 1), "") +
		WithHook("/token", withUser, ", headers: {authorization: Bearer 7}") +
		WithHook("/date", target.URL, ", headers: {Date: 'Sat, 21 Nov 2026 20:57:25 GMT'}")
	for _, args := range [][]string{nil, {"--webhook-store", t.TempDir()}} {
		p := Serving(t, spec, args...)
		for _, c := range []struct{ path, host, header, want string }{
			{"/fixed", "shop.example.com", "", ""},
			{"/port", "shop.example.com:8080", "", ""},
			{"/templated?h=x", "x.example.com", "", ""},
			{"/empty", own, "", ""},
			{"/none", own, "Authorization", ""},
			{"/key?h=mine", own, "Idempotency-Key", "mine"},
			{"/user", own, "Authorization", basic("user:pa@ss:x")},
			{"/users?u=a%3Ab&p=c%40d/", own, "Authorization", basic("a:b:c@d/")},
			{"/token", own, "Authorization", "Bearer 7"},
			{"/date", own, "Date", "Sat, 21 Nov 2026 20:57:25 GMT"},
		} {
			p.Do("POST", c.path, "").Want(t, 201, `{"ok":true}`)
			r := target.Next(t)
			if values := r.Header.Values(c.header); r.Host != c.host || strings.Join(values, ", ") != c.want {
				t.Errorf("%s: got host %s and %s %q, want %s and %q", c.path, r.Host, c.header, values, c.host, c.want)
			}
			if key := r.Header.Get("Idempotency-Key"); c.header != "Idempotency-Key" && (key != "") != (args != nil) {
				t.Errorf("%s with %q: the key is %q", c.path, args, key)
			}
		}
		target.NothingMore(t, p)
	}
}

// Webhooks work with URLs in every valid form; the test checks what is requested.
func TestWebhook_FormsOfURLs(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	port := target.URL[strings.LastIndexByte(target.URL, ':')+1:]
	spec := WithHook("/scheme", "HTTP://LOCALHOST:"+port+"/A", "") +
		WithHook("/fragment", target.URL+"/a?b#c", "") +
		WithHook("/query", target.URL+"?a=b/c", "") +
		WithHook("/dots", target.URL+"/a/../b//c?", "") +
		WithHook("/escapes", target.URL+"/a%2fb%20c?d=%C3%BC", "")
	p := Serving(t, spec)
	for _, c := range []struct{ path, uri string }{
		{"/scheme", "/A"}, {"/fragment", "/a?b"}, {"/query", "/?a=b/c"}, {"/escapes", "/a%2fb%20c?d=%C3%BC"}, {"/dots", "/a/../b//c?"},
	} {
		p.Do("POST", c.path, "")
		if r := target.Next(t); r.URI != c.uri {
			t.Errorf("%s: asked for %s, want %s", c.path, r.URI, c.uri)
		}
	}
	p.WaitLine(0, "configuration warning", "the part after # is not sent")
	target.NothingMore(t, p)
}

func TestWebhook_IPv6WithAZone(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	hosts := make(chan string, 2)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host })}
	defer server.Close()
	go func() { _ = server.Serve(l) }() // Close stops it
	var loopback string
	if all, err := net.Interfaces(); err == nil {
		for _, i := range all {
			if i.Flags&net.FlagLoopback != 0 {
				loopback = i.Name
			}
		}
	}
	p := Serving(t, WithHook("/plain", fmt.Sprintf("http://[::1]:%d/", port), "")+WithHook("/zone", fmt.Sprintf("http://[::1%%25%s]:%d/", loopback, port), ""))
	for _, path := range []string{"/plain", "/zone"} {
		p.Do("POST", path, "")
		if got, want := <-hosts, fmt.Sprintf("[::1]:%d", port); got != want {
			t.Errorf("%s: host %s, want %s", path, got, want)
		}
	}
}

// Many webhooks that fall due together are sent by workers that occupy no threads, while requests
// are answered.
func TestWebhook_ManyDueTogether(t *testing.T) {
	NeedsProcess(t) // its threads are counted
	requests := 200
	if !volume.Full() {
		requests = 20
	}
	const each, mostThreads = 100, 64
	target := NewHookTarget(t, nil)
	p := Serving(t, "- endpoint: {path: /up, response: {body: up}}\n- endpoint:\n    path: /many\n    response: {body: many}\n    webhooks:\n"+
		strings.Repeat(fmt.Sprintf("      - {url: %s, method: POST, body: {a: 1}, sleep-time: 1}\n", target.URL), each))
	for range requests {
		p.Get("/many").Want(t, 200, "many")
	}
	_, err := os.Stat("/proc/self/status")
	proc := err == nil
	var replied atomic.Int64
	over, asked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-over:
				return
			default:
			}
			if a, err := p.Try("GET", "/up", ""); err != nil || a.Status != 200 || a.Body != "up" {
				t.Errorf("during the burst: got %d %q, %v", a.Status, a.Body, err)
				return
			}
			replied.Add(1)
		}
	}()
	for n := range requests * each {
		target.Next(t)
		if proc && n%1000 == 0 {
			if u := p.Usage(); u.Threads > mostThreads {
				t.Fatalf("%d threads after %d webhooks, want %d at most", u.Threads, n, mostThreads)
			}
		}
	}
	close(over)
	<-asked
	if replied.Load() == 0 {
		t.Error("no request was answered during the burst")
	}
	target.NothingMore(t, p)
	p.WaitLine(0, "webhooks", fmt.Sprintf("delivered=%d retried=0 dead=0 refused=0 abandoned=0", requests*each))
}

// Retry-After from a target replaces the back-off, up to the maximum back-off.
func TestWebhook_RetryAfterOfTheTarget(t *testing.T) {
	t.Parallel()
	busy := NewHookTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(429)
		}
	})
	p, a := Administered(t, WithHook("/long", busy.URL, ", retry: {attempts: 3, backoff: 1ms, max-backoff: 3h}"))
	p.Do("POST", "/long", "")
	busy.Next(t)
	var l struct {
		Retried  int
		Webhooks []struct {
			DueIn float64 `json:"due_in_ms"`
		}
	}
	harness.Until(t, "it failed once", func() bool { a.Get("/__admin/webhooks").Into(t, 200, &l); return l.Retried == 1 })
	if due := l.Webhooks[0].DueIn; due < 6_600_000 || due > 7_200_000 {
		t.Errorf("the webhook is due in %v ms, want two hours", due)
	}
	impatient := NewHookTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(503)
		}
	})
	p = Serving(t, WithHook("/short", impatient.URL, ", retry: {attempts: 3, backoff: 1ms, max-backoff: 2ms}"))
	p.Do("POST", "/short", "")
	impatient.Next(t)
	impatient.Next(t)
	impatient.NothingMore(t, p)
	p.WaitLine(0, "webhooks", "delivered=1 retried=1 dead=0")
}

// mute returns the URL of an address that accepts connections and never responds.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // an error does not matter at the end of the test
	return "http://" + l.Addr().String()
}
