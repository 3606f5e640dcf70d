package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/listener/protocol/wire"
)

// A connection that waits is parked, and served again whenever bytes arrive, in whatever pieces.
func TestPark_IsServedAgain(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const sent = "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n{\"project\": \"ab\"}"
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		in := bufio.NewReader(c)
		for _, cut := range []int{len(sent), 1, len(sent) - 1, 30} {
			go func() {
				_, _ = io.WriteString(c, sent[:cut]) // an error shows in the answer
				<-time.After(time.Second)
				_, _ = io.WriteString(c, sent[cut:])
			}()
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if string(b) != `{"project": "ab"}` || err != nil {
				t.Errorf("cut at %d: got %q, %v", cut, b, err)
			}
			synctest.Wait()
			if n := c.small(); n != 1 {
				t.Errorf("cut at %d: the connection has %d buffers after an answer, want 1", cut, n)
			}
			<-time.After(time.Minute)
			if n := c.small(); n != 0 {
				t.Errorf("cut at %d: the connection still has %d buffers", cut, n)
			}
		}
	})
}

// A connection gets a large buffer when a request, or an answer that is built in the buffer, does
// not fit into a small one, and keeps it until it is parked. Requests are answered whatever pieces
// they arrive in.
func TestPark_BuffersAreLargeWhileTheyHaveToBe(t *testing.T) {
	body := strings.Repeat("b", readBuffer)
	s := configured(t, `
- endpoint: {method: POST, path: /echo, response: {body: '{{query-params.q}} {{header-params.X-A|length}} {{body|length}}'}}
- endpoint: {method: POST, path: /late, latency: {min: 1ms, max: 1ms}, response: {body: '{{body|length}}'}}
- endpoint: {path: /fixed, response: {body: `+body+`}}
- endpoint: {path: /rendered, response: {body: '{{query-params.q}}`+body+`'}}
`)
	warm(t, s)
	long := strings.Repeat("a", readBuffer)
	for _, c := range []struct {
		name, sent, want string
		large            bool
	}{
		{"a small request", send("POST", "/echo?q=1", "xyz"), "1  3", false},
		{"a long head", send("POST", "/echo?q=2", "xyz", "X-A: "+long), "2 4096 3", true},
		{"a long body", send("POST", "/echo?q=3", long), "3  4096", true},
		{"a long body of a request that waits", send("POST", "/late", long), "4096", false},
		{"a body that is too long for both", send("POST", "/echo?q=4", strings.Repeat("a", wire.MaxHeader)), "4  65536", false},
		{"a large fixed answer", send("GET", "/fixed", ""), body, true},
		{"a large rendered answer", send("GET", "/rendered?q=5", ""), "5" + body, true},
	} {
		for _, piece := range []int{1 << 20, readBuffer, 1000, 1} {
			t.Run(fmt.Sprintf("%s, by %d bytes", c.name, piece), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					hasBuffers(t, s, c.sent, c.want, piece, c.large && (piece >= readBuffer || c.name != "a long body"))
				})
			})
		}
	}
}

// hasBuffers sends a request several times, in pieces, and expects the connection to have a large
// or a small buffer after the second time.
func hasBuffers(t *testing.T, s *testServer, request, want string, piece int, isLarge bool) {
	c := talk(t, s)
	defer c.Close()
	in := bufio.NewReader(c)
	turns := []string{request, request + request, request}
	if len(request) > wire.MaxHeader {
		turns[1] = request // two requests at once may fill a buffer
	}
	for turn, sent := range turns {
		go func() {
			for rest := sent; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				_, _ = io.WriteString(c, rest[:min(piece, len(rest))]) // an error shows in the answer
			}
		}()
		for range len(sent) / len(request) {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("turn %d: %v", turn, err)
			}
			if b, err := io.ReadAll(resp.Body); string(b) != want || err != nil {
				t.Errorf("turn %d: got %.80q, %v", turn, b, err)
			}
		}
		synctest.Wait()
		small, large := c.small(), c.large()
		if small+large != 1 || turn > 0 && (large == 1) != isLarge {
			t.Errorf("turn %d: %d small and %d large buffers", turn, small, large)
		}
	}
	<-time.After(time.Minute)
	if n := c.small() + c.large(); n != 0 {
		t.Error("the connection has a buffer while it is parked")
	}
	go func() { _, _ = io.WriteString(c, send("POST", "/echo?q=6", "")) }() // an error shows in the answer
	if _, err := http.ReadResponse(in, nil); err != nil || c.small() != 1 {
		t.Errorf("the connection has a large buffer after it was parked, %v", err)
	}
}

// A connection may wait for the same time whether or not it is parked, and the same events end it.
func TestPark_Ends(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, c := range []struct {
		name string
		then func(c *conversation)
		want time.Duration // until it is closed, counted from the answer
		off  time.Duration // how much earlier or later it may be
	}{
		{"nothing comes", func(*conversation) {}, idleTimeout, clockTick},
		{"an empty line comes", func(c *conversation) { _, _ = io.WriteString(c, "\r\n") }, idleTimeout, clockTick},
		{"half of one comes", func(c *conversation) { _, _ = io.WriteString(c, "\r") }, idleTimeout, clockTick},
		{"a part of a head comes", func(c *conversation) { _, _ = io.WriteString(c, "G") }, time.Minute + headerTimeout, 0},
		{"the client leaves", func(c *conversation) { _ = c.Conn.(io.Closer).Close() }, time.Minute, 0},
		{"the server ends", func(c *conversation) { c.from.ExpireIdle() }, time.Minute, 0},
		{"the server ends, with a last call", func(c *conversation) { _ = c.from.End(7 * time.Second); c.from.ExpireIdle() }, time.Minute + 7*time.Second, 0},
		{"the server is closed", func(c *conversation) { c.from.CloseAll() }, time.Minute, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, "GET /static HTTP/1.1\r\nHost: a\r\n\r\n") }() // the answer shows an error
			resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 4096), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			begun := time.Now()
			time.AfterFunc(time.Minute, func() { c.then(conn) })
			<-conn.served
			if took := time.Since(begun); took < c.want-c.off || took > c.want+c.off {
				t.Errorf("%s: it was closed after %v, want %v", c.name, took, c.want)
			}
			if n := conn.from.Count(); n > 0 {
				t.Errorf("%s: the connection is still registered", c.name)
			}
		})
	}
}

// A connection is parked after the same time, whatever made it wait.
func TestPark_InTime(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const get, head, body = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n", "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n", `{"project": "ab"}`
	for name, pieces := range map[string][]string{
		"whole": {get}, "head, then body": {head, body}, "half a head": {get[:10], get[10:]}, "an empty line between": {get, "\r\n", get},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			go func() { _, _ = io.Copy(io.Discard, c) }() // until the end of the test
			for i, piece := range pieces {
				if i > 0 {
					<-time.After(time.Second)
				}
				if _, err := io.WriteString(c, piece); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(parkTime - time.Millisecond)
			early := c.small()
			<-time.After(parkTime + clockTick)
			if late := c.small(); early != 1 || late != 0 {
				t.Errorf("%s: the connection has %d buffers before the time to be parked, and %d after it", name, early, late)
			}
		})
	}
}

// A parked connection that is served again is not idle: a shutdown waits for its answer.
func TestPark_TheEndWaitsForItsReply(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		requests := 0
		intercept(s, func(*wire.Exchange) {
			if requests++; requests == 2 {
				c.from.ExpireIdle()
			}
		})
		in := bufio.NewReader(c)
		for range 2 {
			go func() { _, _ = io.WriteString(c, "GET /static HTTP/1.1\r\nHost: a\r\n\r\n") }() // the answer shows an error
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			<-time.After(time.Minute)
		}
	})
}
