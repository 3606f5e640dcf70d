package listener_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// origin is a server that answers by path, sending the given bytes unchanged.
type origin struct {
	t         testing.TB
	address   string
	responses map[string]string // by path; after one that ends in close_, the connection is closed

	mu   sync.Mutex
	seen []string // requests as received: method, target, sorted headers, body
}

const (
	patient = 30 * time.Second
	close_  = "\x00close" // at the end of an answer: the connection is closed
)

func newOrigin(t testing.TB, responses map[string]string) *origin {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{t: t, address: l.Addr().String(), responses: responses}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { o.serve(c) })
		}
	})
	return o
}

func (o *origin) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patient))
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		var headers []string
		for name, values := range req.Header {
			if name != "Via" {
				headers = append(headers, name+": "+strings.Join(values, "|"))
			}
		}
		slices.Sort(headers)
		o.mu.Lock()
		o.seen = append(o.seen, fmt.Sprintf("%s %s %v %d %q", req.Method, req.RequestURI, headers, req.ContentLength, body))
		o.mu.Unlock()
		response, ends := strings.CutSuffix(o.responses[req.URL.Path], close_)
		response = strings.ReplaceAll(response, "{body}", string(body))
		if _, err := io.WriteString(c, response); err != nil || ends || response == "" {
			return
		}
	}
}

func (o *origin) taken() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen
	o.seen = nil
	return seen
}

// nginx starts nginx as a proxy of an origin, and returns its address.
func nginx(t *testing.T, to string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  upstream real { server %[3]s max_fails=0; keepalive 8; }
  server { listen %[2]s; client_max_body_size 0;
    location / { proxy_pass http://real; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host %[3]s; proxy_next_upstream off;
      proxy_pass_header Server; proxy_pass_header Date; }
  }
}
`, dir, address, to)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", conf, "-p", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for begun := time.Now(); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return address
		}
		if time.Since(begun) > patient {
			said, _ := os.ReadFile(dir + "/error.log")
			t.Fatalf("nginx does not listen: %v, %s", err, said)
		}
	}
}

// seenBy sends a request over a connection of its own and returns what came back: the status line,
// the sorted headers without those about the connection and the length, the body, and whether the
// body was cut off.
func seenBy(t *testing.T, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patient))
	go func() { _, _ = io.WriteString(c, request) }()
	method, _, _ := strings.Cut(request, " ")
	r := bufio.NewReader(c)
	var resp *http.Response
	for resp == nil || resp.StatusCode == 100 {
		if resp, err = http.ReadResponse(r, &http.Request{Method: method}); err != nil {
			return "no answer"
		}
	}
	body, err := io.ReadAll(resp.Body)
	var headers []string
	for name, values := range resp.Header {
		if name != "Connection" && name != "Transfer-Encoding" && name != "Content-Length" {
			headers = append(headers, name+": "+strings.Join(values, "|"))
		}
	}
	slices.Sort(headers)
	ended := ""
	if err != nil {
		ended = " cut off"
	}
	return fmt.Sprintf("%s %v %q%s", resp.Status, headers, body, ended)
}

// ownResponse replaces an answer that the proxy made itself, so that only its status is compared.
func ownResponse(response string) string {
	status, _, _ := strings.Cut(response, " ")
	switch status {
	case "502", "504":
		return status
	}
	return response
}

const dated = "Date: Wed, 21 Oct 2015 07:28:00 GMT\r\nServer: real/1\r\n"

// exchanges returns requests, and the origin's answers by path.
//
// It leaves out malformed answers that nginx passes on, and answers that nginx does not support:
// bytes without a status line (HTTP/0.9), two Content-Length headers, interim answers.
func exchanges() (requests []string, responses map[string]string) {
	responses = map[string]string{}
	add := func(response string, all ...string) {
		path := fmt.Sprintf("/%d", len(responses))
		responses[path] = response
		for _, r := range all {
			requests = append(requests, strings.ReplaceAll(r, "{path}", path))
		}
	}
	get := "GET {path}?a=b&c=%20d HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\n\r\n"
	length := func(body string) string {
		return "HTTP/1.1 200 OK\r\n" + dated + fmt.Sprintf("Content-Length: %d\r\nContent-Type: text/plain\r\nX-Odd-name: 1\r\n\r\n%s", len(body), body)
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "OPTIONS"} { // methods with bodies
		add(length("got: {}"), method+" {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			method+" {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello")
	}
	add("HTTP/1.1 200 OK\r\n"+dated+"Content-Length: 1234\r\nETag: \"a\"\r\n\r\n", "HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	add("HTTP/1.1 204 No Content\r\n"+dated+"X-A: b\r\n\r\n", get)
	add("HTTP/1.1 304 Not Modified\r\n"+dated+"ETag: \"a\"\r\n\r\n", get)
	add("HTTP/1.1 201 Created\r\n"+dated+"Location: /elsewhere\r\nContent-Length: 0\r\n\r\n", get)
	for _, status := range []string{"200 Fine", "202 Accepted", "206 Partial Content", "301 Moved", "302 Found", "308 Permanent Redirect", "410 Gone", "307 Temporary Redirect", "400 Bad Request", "401 Unauthorized", "404 Not Found", "409 Conflict",
		"418 I am a teapot", "429 Too Many", "500 Broken", "503 Unavailable"} {
		add("HTTP/1.1 "+status+"\r\n"+dated+"Location: http://a/b\r\nContent-Length: 4\r\n\r\nbody", get)
	}
	chunked := "HTTP/1.1 200 OK\r\n" + dated + "Transfer-Encoding: chunked\r\n\r\n"
	add(chunked+"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n", get)
	add(chunked+"0\r\n\r\n", get)
	add(chunked+"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n", get)
	add(chunked+fmt.Sprintf("%X\r\n%s\r\n0\r\n\r\n", 200_000, strings.Repeat("c", 200_000)), get)
	add("HTTP/1.1 200 OK\r\n"+dated+"\r\nuntil the end"+close_, get)
	add("HTTP/1.0 200 OK\r\n"+dated+"\r\nold"+close_, get)
	add(length(""), get)
	add(length(strings.Repeat("1", 1<<10)), get)
	add(length(strings.Repeat("s", 64<<10)), get)
	add(length(strings.Repeat("l", 64<<10+1)), get)
	add(length(strings.Repeat("large ", 500_000)), get)
	add(length("\x00\xff\x80binary\r\n\r\n"), get)
	add("HTTP/1.1 200 OK\r\n"+dated+"Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nVary: A\r\nVary: B\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok", get)
	add("HTTP/1.1 200 OK\r\n"+dated+"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok", get)
	add("HTTP/1.1 200 OK\r\n"+dated+"Connection: close\r\nContent-Length: 2\r\n\r\nok"+close_, get)
	add("HTTP/1.1 200 OK\r\n"+dated+"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8bz", get)
	// Requests follow: chunked, large, with Expect, in HTTP/1.0, with unusual targets and headers.
	add(length("got"), "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n"+strings.Repeat("b", 300_000),
		"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
		"GET {path}?x=%2F..%2f&y=+&z HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: a=b; c=d\r\nAuthorization: Bearer t\r\nAccept: */*\r\nX-Empty:\r\n\r\n",
		"GET http://x{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n")
	// Broken upstreams follow.
	post := "POST {path} HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx" // nginx does not retry it
	add(close_, post)
	add("HTTP/1.1 200 OK\r\nContent-Le"+close_, post)
	add("HTTP/1.1 200 OK\r\n"+dated+"Content-Length: 100000\r\n\r\n"+strings.Repeat("p", 70_000)+close_, get)
	add(chunked+"FFFF0\r\n"+strings.Repeat("p", 70_000)+close_, get)
	return requests, responses
}

// The answers of an origin that clients receive through the server, and the requests that the
// origin receives, are the same as through nginx.
func TestProxy_ResponsesAreThoseOfNginx(t *testing.T) {
	requests, responses := exchanges()
	o := newOrigin(t, responses)
	theirs := nginx(t, o.address)
	ours := listenertest.Start(t, config.Loader{Upstream: "http://" + o.address}.Load(), listener.Options{NoCORS: true}).Addr().String()
	if len(requests) < 60 {
		t.Errorf("there are %d exchanges", len(requests))
	}
	for _, request := range requests {
		want := ownResponse(seenBy(t, theirs, request))
		sawTheirs := o.taken()
		got := ownResponse(seenBy(t, ours, request))
		saw := o.taken()
		if got != want {
			t.Errorf("%.80q:\ngot  %.300s\nwant %.300s", request, got, want)
		}
		if fmt.Sprint(saw) != fmt.Sprint(sawTheirs) {
			t.Errorf("%.80q: the origin sees\n%.300s\nfrom nginx\n%.300s", request, saw, sawTheirs)
		}
	}
}
