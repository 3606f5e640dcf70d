package listener_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// An upstream's answer is the same over HTTP/2 as over HTTP/1.1: status, fields, length, body, and
// whether it breaks off.
func TestHTTP2_PassesOn(t *testing.T) {
	const long = 300_000
	responses := map[string]string{
		"/head":    "HTTP/1.1 200 OK\r\n" + dated + "Content-Length: 1234\r\nETag: \"a\"\r\n\r\n",
		"/short":   "HTTP/1.1 418 Teapot\r\n" + dated + "Content-Length: 4\r\nX-A: 1\r\nX-A: 2\r\nConnection: keep-alive\r\n\r\nbody",
		"/none":    "HTTP/1.1 204 No Content\r\n" + dated + "\r\n",
		"/same":    "HTTP/1.1 304 Not Modified\r\n" + dated + "ETag: \"a\"\r\n\r\n",
		"/large":   fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", dated, long, strings.Repeat("l", long)),
		"/chunked": fmt.Sprintf("HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n%X\r\n%s\r\n0\r\n\r\n", dated, long, strings.Repeat("c", long)),
		"/undated": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"/broken":  fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", dated, long, strings.Repeat("p", long/2)) + close_,
	}
	o := newOrigin(t, responses)
	server := listenertest.Start(t, config.Loader{Upstream: "http://" + o.address}.Load(), listener.Options{NoCORS: true})
	one, two := &http.Client{Transport: &http.Transport{}}, overHTTP2(t)
	defer one.CloseIdleConnections()
	ask := func(client *http.Client, method, path string) string {
		req, _ := http.NewRequest(method, server.URL()+path, nil)
		resp, err := client.Do(req)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if path == "/undated" {
			if _, wrong := http.ParseTime(resp.Header.Get("Date")); wrong != nil || len(resp.Header["Date"]) != 1 {
				t.Errorf("%s: Date %q", path, resp.Header["Date"])
			}
			resp.Header.Del("Date")
		}
		if err != nil { // how much arrives before the error is random
			body = nil
		}
		return fmt.Sprint(resp.StatusCode, " ", resp.ContentLength, " ", resp.Header, " ", string(body), " broken ", err != nil)
	}
	for path := range responses {
		method := "GET"
		if path == "/head" {
			method = "HEAD"
		}
		first, second := ask(one, method, path), ask(two, method, path)
		if first != second {
			t.Errorf("%s:\n%.300s\n%.300s", path, first, second)
		}
		if strings.HasSuffix(first, "true") != (path == "/broken") || path == "/head" && !strings.HasPrefix(first, "200 1234 ") {
			t.Errorf("%s: got %.100s", path, first)
		}
	}
}

// The body of an upstream is passed on as it arrives. A slow client slows the upstream down, and a
// client that leaves ends the exchange; neither makes the server buffer the body.
func TestHTTP2_PassesOnAsItComes(t *testing.T) {
	for name, client := range map[string]*http.Client{"http/1.1": {Transport: &http.Transport{}}, "h2": overHTTP2(t)} {
		t.Run(name, func(t *testing.T) { passesOnAsItComes(t, client) })
	}
}

func passesOnAsItComes(t *testing.T, client *http.Client) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	more, left := make(chan string, 1), make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patient))
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for text := range more {
			_, _ = fmt.Fprintf(c, "%x\r\n%s\r\n", len(text), text)
		}
		_, err = c.Read(make([]byte, 1)) // until the server abandons the exchange, although nothing more is sent
		left <- err
	}()
	defer l.Close()
	server := listenertest.Start(t, config.Loader{Upstream: "http://" + l.Addr().String()}.Load(), listener.Options{})
	more <- "one"
	resp, err := client.Get(server.URL() + "/events")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	for _, want := range []string{"one", "two", "six"} {
		if want != "one" {
			more <- want
		}
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	close(more)
	_ = resp.Body.Close() // the client leaves
	if err := <-left; err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the upstream got %v", err)
	}
}

// A request whose fault sends part of its body keeps its place while the client has no room for
// that part, and frees it once the part is sent.
func TestHTTP2_AFaultHoldsItsPlace(t *testing.T) {
	for _, fault := range []string{"{type: truncate}", "{type: slow-body, bytes-per-second: 1000000}"} {
		server := unrecorded(t, `
- endpoint: {path: /x, capacity: {concurrent: 1, queue: 0}, response: {body: 0123456789}, fault: `+fault+`}
- endpoint: {path: /y, response: {body: y}}
`)
		c := speak(t, server, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		c.get(1, "/x")
		c.until(1, http2.FrameHeaders)
		c.get(3, "/x")
		if got := c.status(3); got != "503" {
			t.Errorf("%s: a second request got %s while the first waits", fault, got)
		}
		_ = c.WriteWindowUpdate(1, 100)
		c.until(1, http2.FrameData)
		for id := uint32(5); ; id += 2 { // its place is freed soon
			if c.get(id, "/x"); c.status(id) == "200" {
				break
			}
		}
	}
}
