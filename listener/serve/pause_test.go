package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// delayedBy1s is a configuration with answers that take a second, and one that does not.
const delayedBy1s = `
- endpoint: {path: /slow, latency: {min: 1s}, response: {body: slow}}
- endpoint: {method: POST, path: /slow, latency: {min: 1s}, response: {body: "{{body}}"}}
- endpoint: {path: "/slow/:id", latency: {min: 1s}, response: {body: "{{path-params.id}}"}}
- endpoint: {path: /fast, response: {body: fast}}
`

const (
	getSlow  = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
	postSlow = "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nabcd" // half of its body
	getFast  = "GET /fast HTTP/1.1\r\nHost: a\r\n\r\n"
)

// sendAt sends each piece at its time, in a goroutine of its own. A failed write shows in the
// answers.
func sendAt(c net.Conn, pieces map[time.Duration]string) {
	begun := time.Now()
	for at, piece := range pieces {
		go func() {
			<-time.After(time.Until(begun.Add(at)))
			_, _ = io.WriteString(c, piece)
		}()
	}
}

// next reads one answer.
func next(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each answer is sent when its latency, counted from the arrival of the request, is over, in the
// order of the requests. No answer waits for a later one.
func TestPause_RepliesComeInTime(t *testing.T) {
	s := configured(t, delayedBy1s)
	warm(t, s)
	type responses []struct {
		at   time.Duration
		body string
	}
	for _, c := range []struct {
		name string
		sent map[time.Duration]string
		want responses
	}{
		{"one", map[time.Duration]string{0: getSlow}, responses{{time.Second, "slow"}}},
		{"one after the other", map[time.Duration]string{0: getSlow, 2 * time.Second: getSlow}, responses{{time.Second, "slow"}, {3 * time.Second, "slow"}}},
		{"two at once", map[time.Duration]string{0: getSlow + getSlow}, responses{{time.Second, "slow"}, {time.Second, "slow"}}},
		{"a fast one before a slow one", map[time.Duration]string{0: getFast + getSlow}, responses{{0, "fast"}, {time.Second, "slow"}}},
		{"a fast one after a slow one", map[time.Duration]string{0: getSlow + getFast}, responses{{time.Second, "slow"}, {time.Second, "fast"}}},
		{"one while another waits", map[time.Duration]string{0: getSlow, 300 * ms: getSlow}, responses{{time.Second, "slow"}, {1300 * ms, "slow"}}},
		{"a head that is whole later", map[time.Duration]string{0: getSlow, 300 * ms: getSlow[:9], 1500 * ms: getSlow[9:]}, responses{{time.Second, "slow"}, {2500 * ms, "slow"}}},
		{"a body that is whole later", map[time.Duration]string{0: getSlow + postSlow, 1500 * ms: "efgh"}, responses{{time.Second, "slow"}, {2500 * ms, "abcdefgh"}}},
		{"a body that comes while another waits", map[time.Duration]string{0: getSlow, 100 * ms: postSlow, 500 * ms: "efgh"}, responses{{time.Second, "slow"}, {1500 * ms, "abcdefgh"}}},
		{"several, while one waits", map[time.Duration]string{0: getSlow, 100 * ms: strings.Repeat(getFast, 3), 200 * ms: getSlow}, responses{
			{time.Second, "slow"}, {time.Second, "fast"}, {time.Second, "fast"}, {time.Second, "fast"}, {1200 * ms, "slow"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer conn.Close()
			begun := time.Now()
			sendAt(conn, c.sent)
			in := bufio.NewReader(conn)
			for i, want := range c.want {
				body := next(t, in)
				if took := time.Since(begun); body != want.body || took != want.at {
					t.Errorf("%s: answer %d is %q after %v, want %q after %v", c.name, i+1, body, took, want.body, want.at)
				}
			}
		})
	}
}

// Bytes that arrive while a request waits are neither lost nor mixed up, however many there are.
func TestPause_KeepsWhatComesMeanwhile(t *testing.T) {
	s := configured(t, delayedBy1s)
	warm(t, s)
	for _, n := range []int{1, 100, 5000} { // more than is kept while waiting, and more than a buffer holds
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer conn.Close()
			var requests strings.Builder
			for i := range n {
				fmt.Fprintf(&requests, "GET /slow/%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
			}
			sendAt(conn, map[time.Duration]string{0: getSlow, 300 * ms: requests.String()})
			in := bufio.NewReader(conn)
			if got := next(t, in); got != "slow" {
				t.Errorf("got %q", got)
			}
			for i := range n {
				if got := next(t, in); got != fmt.Sprint(i) {
					t.Fatalf("answer %d of %d is %q", i, n, got)
				}
			}
		})
	}
}

// A wait ends early when the connection is closed, and the request is then not answered.
func TestPause_Ends(t *testing.T) {
	s := configured(t, delayedBy1s)
	warm(t, s)
	const last = "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		name string
		sent string
		then func(c *conversation)
	}{
		{"the client leaves", getSlow, func(c *conversation) { _ = c.Conn.Close() }},
		{"the server is closed", getSlow, func(c *conversation) { c.from.CloseAll() }},
		{"the server is closed, after the last request", last, func(c *conversation) { c.from.CloseAll() }},
		{"the server is closed, and more came than is kept", getSlow + strings.Repeat("x", maxAhead), func(c *conversation) { c.from.CloseAll() }},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer conn.Close()
			begun := time.Now()
			sendAt(conn, map[time.Duration]string{0: c.sent})
			<-time.After(300 * ms)
			c.then(conn)
			<-conn.served
			if took := time.Since(begun); took != 300*ms {
				t.Errorf("%s: it ended after %v, want 300ms", c.name, took)
			}
			if b, _ := io.ReadAll(conn); len(b) > 0 { // an error only means that the connection is closed
				t.Errorf("%s: got %q, want no answer", c.name, b)
			}
			if n := conn.from.Count(); n > 0 {
				t.Errorf("%s: the connection is still registered", c.name)
			}
		})
	}
}

// A client that closes its side of the connection counts as having left, unless its request
// announced that it sends no more: it may then be waiting for the answer.
func TestPause_OfAClientThatSendsNoMore(t *testing.T) {
	t.Parallel()
	server := configured(t, delayedBy1s)
	server.listen(t)
	var clients sync.WaitGroup
	for request, replied := range map[string]bool{
		"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n":                                false,
		"GET /slow HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":                 false,
		"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n":           true,
		"GET /slow HTTP/1.0\r\n\r\n":                                           true,
		getFast + "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n": true,
	} {
		clients.Go(func() {
			conn, err := net.Dial("tcp", server.address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, err = io.WriteString(conn, request)
			if err == nil {
				err = conn.(*net.TCPConn).CloseWrite()
			}
			b, read := io.ReadAll(conn)
			if err != nil || read != nil || strings.Contains(string(b), "slow") != replied {
				t.Errorf("%q: got %q, %v, %v, want an answer: %t", request, b, err, read, replied)
			}
		})
	}
	clients.Wait()
}

// A connection that has waited is parked and times out like any other.
func TestPause_LeavesTheTimeOutsAsTheyWere(t *testing.T) {
	s := configured(t, delayedBy1s)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		conn := talk(t, s)
		defer conn.Close()
		in := bufio.NewReader(conn)
		for range 3 {
			sendAt(conn, map[time.Duration]string{0: getSlow})
			if got := next(t, in); got != "slow" {
				t.Errorf("got %q", got)
			}
			<-time.After(time.Minute)
			if n := conn.small(); n != 0 {
				t.Errorf("the connection still has %d buffers a minute later", n)
			}
		}
		begun := time.Now()
		<-conn.served
		if took := time.Since(begun) + time.Minute; took < idleTimeout-clockTick || took > idleTimeout+clockTick {
			t.Errorf("it was closed after %v, want %v", took, idleTimeout)
		}
	})
}

// The wait of a request does not count for those that arrived with it, or meanwhile.
func TestPause_IsNotTheTimeOfLaterRequests(t *testing.T) {
	warm(t, configured(t, delayedBy1s))
	for _, sent := range []map[time.Duration]string{{0: getSlow + getFast}, {0: getSlow + getFast + getFast}, {0: getSlow, 300 * ms: getFast}} {
		synctest.Test(t, func(t *testing.T) {
			s := recordingServer(t, delayedBy1s, 1)
			conn := talk(t, s)
			sendAt(conn, sent)
			in := bufio.NewReader(conn)
			for range strings.Count(fmt.Sprint(sent), "Host") {
				next(t, in)
			}
			_ = conn.Close() // closing a pipe does not fail
			<-conn.served
			for _, x := range s.Recorder.Journal().All() {
				if x.Endpoint == "GET /fast" && x.Took != 0 {
					t.Errorf("%v: a request took %v", sent, x.Took)
				}
			}
		})
	}
}
