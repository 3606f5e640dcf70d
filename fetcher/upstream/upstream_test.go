package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/internal/http1"
	"mockserver/matcher"
	"mockserver/renderer"
)

// scripted starts an upstream that answers each connection with the next of the given answers once
// it has read a head, and then closes the connection. The channel receives what the upstream has
// read.
func scripted(t testing.TB, responses ...string) (url string, read <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	heads := make(chan string, 100)
	go func() {
		for _, response := range responses {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			b, n := make([]byte, 1<<20), 0
			for !strings.Contains(string(b[:n]), "\r\n\r\n") {
				m, err := c.Read(b[n:])
				if n += m; err != nil {
					break
				}
			}
			heads <- string(b[:n])
			_, _ = io.WriteString(c, response)
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String(), heads
}

func made(t testing.TB, url, more string) *Upstream {
	t.Helper()
	spec := config.Parse("a.yml", []byte("- upstream: {name: real, url: \""+url+"\""+more+"}"))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	u, problems := New(&spec.Upstreams[0], "mockserver-1", &renderer.Scope{Env: func(string) (string, bool) { return "env", true }})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.pool.Close)
	return u
}

func request(line, headers, body string) *matcher.Request {
	method, target, _ := strings.Cut(line, " ")
	return matcher.Acquire(matcher.Input{Method: []byte(method), Target: []byte(target), Host: []byte("client.example"),
		Header: matcher.Header(headers + "\r\n"), Body: []byte(body), Remote: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1}})
}

// whole sends a request and reads the whole answer.
func whole(u *Upstream, a *Request) (status int, body string, err error) {
	x := NewExchange()
	defer x.Free()
	if err := u.Do(x, a); err != nil {
		return 0, "", err
	}
	b := append([]byte(nil), x.Body...)
	for !x.Whole {
		var part [777]byte
		n, err := x.Read(part[:])
		b = append(b, part[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return x.Status, string(b), err
		}
	}
	return x.Status, string(b), nil
}

// Whether a head is too large does not depend on how its bytes arrive.
func TestDo_TheLimitOfAHeadIsExact(t *testing.T) {
	const ok, end = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: ", "\r\n\r\n"
	for size, want := range map[int]error{http1.MaxHead: nil, http1.MaxHead + 1: http1.ErrHead} {
		for _, lines := range []int{1, 100} {
			head := ok + strings.Repeat("b\r\nA: ", lines-1)
			url, _ := scripted(t, head+strings.Repeat("b", size-len(head)-len(end))+end)
			r := request("POST /", "", "")
			if status, _, err := whole(made(t, url, ""), &Request{Request: r}); !errors.Is(err, want) || err == nil && status != 200 {
				t.Errorf("a head of %d bytes in %d lines: got %d, %v, want %v", size, lines, status, err, want)
			}
			matcher.Release(r)
		}
	}
}

// If two readers could disagree about where an answer ends or what its headers are, no part of it
// is passed on.
func TestDo_MalformedResponsesAreRefused(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for response, want := range map[string]error{
		"rubbish\r\n\r\n":                                                       http1.ErrStatus,
		"\r\n" + ok + "\r\n":                                                    http1.ErrStatus,
		"HTTP/2.0 200 OK\r\n\r\n":                                               http1.ErrStatus,
		"HTTP/1.1 20 OK\r\n\r\n":                                                http1.ErrStatus,
		"HTTP/1.1 2000 OK\r\n\r\n":                                              http1.ErrStatus,
		"HTTP/1.1  200 OK\r\n\r\n":                                              http1.ErrStatus,
		"HTTP/1.1 099 OK\r\n\r\n":                                               http1.ErrStatus,
		"HTTP/1.1 200 O\x00K\r\n\r\n":                                           http1.ErrStatus,
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":                              errSwitch,
		"HTTP/1.1 200 OK\nContent-Length: 0\n\n":                                http1.ErrLineEnd,
		ok + "A: b\nContent-Length: 0\r\n\r\n":                                  http1.ErrLineEnd,
		ok + "A : b\r\n\r\n":                                                    http1.ErrName,
		ok + " A: b\r\n\r\n":                                                    http1.ErrName,
		ok + "A: b\r\n folded\r\n\r\n":                                          http1.ErrName,
		ok + ": b\r\n\r\n":                                                      http1.ErrName,
		ok + "A\r\n\r\n":                                                        http1.ErrName,
		ok + "A: b\rc: d\r\n\r\n":                                               http1.ErrValue,
		ok + "A: b\x00\r\n\r\n":                                                 http1.ErrValue,
		ok + "Content-Length: 1, 1\r\n\r\na":                                    http1.ErrLength,
		ok + "Content-Length: +1\r\n\r\na":                                      http1.ErrLength,
		ok + "Content-Length: 0x1\r\n\r\na":                                     http1.ErrLength,
		ok + "Content-Length: \r\n\r\n":                                         http1.ErrLength,
		ok + "Content-Length: -1\r\n\r\n":                                       http1.ErrLength,
		ok + "Content-Length: 9999999999999999999\r\n\r\n":                      http1.ErrLength,
		ok + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na":                  http1.ErrLengths,
		ok + "Content-Length: 1\r\ncontent-length: 2\r\n\r\nab":                 http1.ErrLengths,
		ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": http1.ErrFrames,
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n": http1.ErrFrames,
		ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n":                http1.ErrCoding,
		ok + "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n":                     http1.ErrCoding,
		ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":       http1.ErrCoding,
		ok + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n":                                 http1.ErrValue,
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                       http1.ErrCoding,
		ok + "Transfer-Encoding: chunked\r\n\r\ng\r\n":                                         http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n 1\r\na\r\n0\r\n\r\n":                          http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n":                          http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n":                         http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n\r\n":                                          http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\na":                        http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n":                             http1.ErrChunk,
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n":                          http1.ErrChunkEnd,
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n":                             http1.ErrChunkEnd,
		ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nno trailer\r\n\r\n":                       http1.ErrTrailer,
		ok + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 9000) + "\r\na":      http1.ErrLongChunk,
		ok + strings.Repeat("A: "+strings.Repeat("b", 200)+"\r\n", 2000) + "\r\n":              http1.ErrHead,
		strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20) + ok + "Content-Length: 0\r\n\r\n": errInterim,
	} {
		url, _ := scripted(t, response)
		r := request("POST /", "", "")
		if status, body, err := whole(made(t, url, ""), &Request{Request: r}); !errors.Is(err, want) {
			t.Errorf("%.120q: got %d %q %v, want %v", response, status, body, err, want)
		}
		matcher.Release(r)
	}
}

func TestDo_ResponsesAreReadToTheirEnd(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	long := strings.Repeat("0123456789", 20_000)
	for _, c := range []struct{ method, response, want string }{
		{"GET", ok + "Content-Length: 2\r\n\r\nab", "200 ab"},
		{"GET", ok + "Content-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n", "200 ab"},
		{"GET", ok + "Content-Length: 200000\r\n\r\n" + long, "200 " + long},
		{"GET", ok + "Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n1 ;x=\"y\"\r\nb\r\n000\r\nT: u\r\n\r\n", "200 ab"},
		{"GET", ok + "Transfer-Encoding: chunked\r\n\r\n30D40\r\n" + long + "\r\n0\r\n\r\n", "200 " + long},
		{"GET", ok + "\r\n" + long, "200 " + long},
		{"GET", "HTTP/1.0 200\r\n\r\nab", "200 ab"},
		{"GET", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", "200 a"},
		{"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", "204 "},
		{"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 "},
		{"HEAD", ok + "Content-Length: 5\r\n\r\n", "200 "},
		{"HEAD", ok + "Transfer-Encoding: chunked\r\n\r\n", "200 "},
		{"GET", ok + "Content-Length: 100000\r\n\r\nab", "200 ab: the upstream closed the connection before its answer was complete"},
		{"GET", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "200 ab: the upstream closed the connection before its answer was complete"},
		{"GET", ok + "Content-Length: 10\r\n\r\nab", "0 : the upstream closed the connection before its answer was complete"},
		{"GET", "HTTP/1.1 200", "0 : the upstream closed the connection before its answer was complete"},
		{"POST", "", "0 : the upstream closed the connection without an answer"},
	} {
		url, _ := scripted(t, c.response)
		r := request(c.method+" /", "", "")
		status, body, err := whole(made(t, url, ""), &Request{Request: r})
		got := fmt.Sprintf("%d %s", status, body)
		if err != nil {
			got += ": " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s %.100q: got %.100q, want %.100q", c.method, c.response, got, c.want)
		}
		matcher.Release(r)
	}
}

// Headers of the client that concern its connection are not passed on, and nothing that the client
// sends can become an additional header or request.
func TestDo_RequestsAreWhatClientsSent(t *testing.T) {
	const response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for _, c := range []struct{ more, line, headers, body, want string }{
		{"", "GET /a/../b?c=%20#", "X-a: b\r\nAccept:  */* \r\n", "", "GET /v2/a/../b?c=%20# HTTP/1.1|Host: {host}|X-a: b|Accept: */*|Via: 1.1 mockserver-1||"},
		{"", "GET http://other/x?y", "Host: other\r\n", "", "GET /v2/x?y HTTP/1.1|Host: {host}|Via: 1.1 mockserver-1||"},
		{", host: pass", "GET /?", "Host: client.example\r\n", "", "GET /v2/? HTTP/1.1|Host: client.example|Via: 1.1 mockserver-1||"},
		{"", "POST /", "Connection: close, X-Gone, TE\r\nX-Gone: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nProxy-Connection: a\r\nExpect: 100-continue\r\nTrailer: X\r\nX-Stays: 1\r\n",
			"hello", "POST /v2/ HTTP/1.1|Host: {host}|X-Stays: 1|Via: 1.1 mockserver-1|Content-Length: 5||hello"},
		{"", "POST /", "Transfer-Encoding: chunked\r\n", "", "POST /v2/ HTTP/1.1|Host: {host}|Via: 1.1 mockserver-1|Content-Length: 0||"},
		{"", "POST /", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc", "POST /v2/ HTTP/1.1|Host: {host}|Via: 1.1 mockserver-1|Content-Length: 3||abc"},
		{", headers: {Authorization: \"Bearer {{env.TOKEN}}\", X-P: \"{{path}}\", Cookie: null}", "GET /p", "authorization: mine\r\nCOOKIE: a=b\r\nX-P: q\r\n", "",
			"GET /v2/p HTTP/1.1|Host: {host}|Authorization: Bearer env|X-P: /p|Via: 1.1 mockserver-1||"},
		{"", "GET /", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nX-Stays: 1\r\n", "", "GET /v2/ HTTP/1.1|Host: {host}|X-Stays: 1|Via: 1.1 mockserver-1||"},
		{"", "GET /", "Upgrade: h2c\r\nUpgrade: TLS/1.0, websockets\r\nHTTP2-Settings:\r\n", "", "GET /v2/ HTTP/1.1|Host: {host}|Via: 1.1 mockserver-1||"},
		{"", "POST /", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "", "POST /v2/ HTTP/1.1|Host: {host}|Via: 1.1 mockserver-1||"},
		{"", "GET /", "Via: 1.0 other\r\n", "", "GET /v2/ HTTP/1.1|Host: {host}|Via: 1.0 other|Via: 1.1 mockserver-1||"},
	} {
		url, heads := scripted(t, response)
		u := made(t, url+"/v2/", c.more)
		r := request(c.line, c.headers, c.body)
		if _, _, err := whole(u, &Request{Request: r}); err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		got := strings.ReplaceAll(strings.ReplaceAll(<-heads, "\r\n", "|"), strings.TrimPrefix(url, "http://"), "{host}")
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.line, got, c.want)
		}
		matcher.Release(r)
	}
	url, heads := scripted(t, response) // HTTP/1.0 may have no Host
	r := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte("/"), Header: matcher.Header("\r\n")})
	if _, _, err := whole(made(t, url, ", host: pass"), &Request{Request: r}); err != nil {
		t.Error(err)
	} else if got := <-heads; !strings.Contains(got, "\r\nHost: "+strings.TrimPrefix(url, "http://")+"\r\n") {
		t.Errorf("without a Host of the client: %q", got)
	}
	matcher.Release(r)
	for headers, want := range map[string]error{
		"Via: 1.1 mockserver-1\r\n":                  ErrLoop,
		"Via: 1.1 a, 1.1 mockserver-1\r\n":           ErrLoop,
		"Upgrade: websocket\r\n":                     ErrUpgrade,
		"Upgrade: h2c, WebSocket\r\n":                ErrUpgrade,
		"Upgrade: h2c\r\nupgrade: x,websocket ,\r\n": ErrUpgrade,
		"X-A: b\rX-Injected: c\r\n":                  errRequestHeader,
		"X-A: b\x00\r\n":                             errRequestHeader,
	} {
		r := request("GET /", headers, "")
		if _, _, err := whole(made(t, "http://127.0.0.1:1", ""), &Request{Request: r}); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", headers, err, want)
		}
		matcher.Release(r)
	}
	for _, target := range []string{"", "x", "/a b", "/a\r\nX: y", "/a#b", "/\xc3\xa9"} {
		r := request("GET /", "", "")
		if _, _, err := whole(made(t, "http://127.0.0.1:1", ""), &Request{Request: r, Target: []byte(target)}); !errors.Is(err, errTarget) {
			t.Errorf("%q: got %v", target, err)
		}
		matcher.Release(r)
	}
}

func TestDo_Forwarded(t *testing.T) {
	url, heads := scripted(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	r := request("GET /", "X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-Host: untrue\r\n", "")
	defer matcher.Release(r)
	if _, _, err := whole(made(t, url, ""), &Request{Request: r, Forwarded: true, Target: []byte("/x?y")}); err != nil {
		t.Fatal(err)
	}
	got := <-heads
	for _, want := range []string{"GET /x?y HTTP/1.1\r\n", "X-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n", "X-Forwarded-Host: client.example\r\n", "X-Forwarded-Proto: http\r\n"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("want %q once in %q", want, got)
		}
	}
	if strings.Contains(got, "untrue") {
		t.Error(got)
	}
}

func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: b\r\n\r\n"), false)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: X\r\nX: y\r\n\r\nabc"), true)
	f.Fuzz(func(t *testing.T, response []byte, head bool) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		x := NewExchange()
		x.from = strings.NewReader(string(response))
		x.upstream = &Upstream{}
		if x.readHead([]byte(method)) != nil {
			return
		}
		if x.readWhole(nil, 0) != nil {
			return
		}
		total := len(x.Body)
		for !x.Whole {
			var b [100]byte
			n, err := x.Read(b[:])
			if total += n; err != nil {
				break
			}
		}
		if total > len(response) {
			t.Errorf("%d bytes of %d", total, len(response))
		}
		for _, f := range x.Fields {
			if http1.HasControl(f.Name) || http1.HasControl(f.Value) || len(f.Name) == 0 || isConnection(f.Name) && !http1.IsName(f.Name, "host") && !http1.IsName(f.Name, "expect") {
				t.Errorf("%q: %q", f.Name, f.Value)
			}
		}
	})
}

// The end of a body is known with its last bytes: the client may leave as soon as it has them.
func TestRead_EndsWithTheLastBytes(t *testing.T) {
	for head, body := range map[string]string{"Content-Length: 3": "abc", "Transfer-Encoding: chunked": "3\r\nabc\r\n0\r\n\r\n"} {
		x := NewExchange()
		x.from = io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+head+"\r\n\r\n"), strings.NewReader(body))
		x.upstream = &Upstream{}
		if err := errors.Join(x.readHead([]byte("GET")), x.readWhole(nil, 0)); err != nil || x.Whole {
			t.Fatal(err, x.Whole)
		}
		var b [100]byte
		if n, err := x.Read(b[:]); string(b[:n]) != "abc" || err != io.EOF {
			t.Errorf("%s: %q, %v", head, b[:n], err)
		}
	}
}

// A protocol without a version would be passed on in a header line without a name.
func TestVia_NamesEachProtocol(t *testing.T) {
	for p, via := range viaOf {
		if !strings.HasPrefix(via, "Via: ") {
			t.Errorf("%s: the header begins with %q", matcher.Protocol(p), via)
		}
	}
}
