package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/listener/protocol/wire"
)

// conversation is a connection of a client, with the result of serving it.
type conversation struct {
	net.Conn
	from   *wire.Connections
	served chan error
	conn   *wire.Connection
	into   atomic.Int64 // the size of the buffer that the connection is read into
}

// small and large return how many buffers of each size the connection is read into. While it is
// parked, it is read into a single byte.
func (c *conversation) small() int { return c.buffers(2, readBuffer) }
func (c *conversation) large() int { return c.buffers(readBuffer+1, wire.MaxHeader) }

func (c *conversation) buffers(least, most int64) int {
	synctest.Wait() // until it is read
	if n := c.into.Load(); n >= least && n <= most {
		return 1
	}
	return 0
}

// measuredReads is a connection that keeps the size of what it is read into.
type measuredReads struct {
	net.Conn
	into *atomic.Int64
}

func (m measuredReads) Read(b []byte) (int, error) {
	m.into.Store(int64(len(b)))
	return m.Conn.Read(b)
}

// talk has a server serve one connection in a bubble.
func talk(t *testing.T, s *testServer) *conversation {
	t.Helper()
	client, inner := net.Pipe()
	l := handling(s, stopping())
	c := &conversation{Conn: client, from: l, served: make(chan error, 1)}
	c.conn = l.Adopt(measuredReads{inner, &c.into})
	go func() { c.served <- c.conn.Serve() }()
	return c
}

// warm makes fasthttp start its one-time goroutines, outside of any bubble.
func warm(t *testing.T, s *testServer) {
	t.Helper()
	c := talk(t, s)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") }()
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 ") {
		t.Fatalf("got %q, %v", b, err)
	}
	<-c.served
}

// dribble sends a text byte by byte, with a pause before each.
func dribble(w io.Writer, text string, pause time.Duration) {
	for i := range len(text) {
		<-time.After(pause)
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return // the server has closed
		}
	}
}

const slowly = "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\nConnection: close\r\n\r\n"

func TestConnection_ABodyThatKeepsComingIsServed(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		var sending sync.WaitGroup
		sending.Go(func() {
			_, _ = io.WriteString(c, slowly) // an error shows in the answer
			dribble(c, `{"project": "ab"}`, 25*time.Second)
		})
		b, _ := io.ReadAll(c)
		if got := string(b); !strings.HasPrefix(got, "HTTP/1.1 200 OK") || !strings.HasSuffix(got, `{"project": "ab"}`) {
			t.Errorf("got %q", got)
		}
		<-c.served
		sending.Wait()
	})
}

func TestConnection_ABodyThatStallsGets408(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, sent := range []string{"", `{"proj`} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			begun := time.Now()
			go func() { _, _ = io.WriteString(c, slowly+sent) }() // an error shows in the answer
			b, _ := io.ReadAll(c)
			got := string(b)
			if !strings.HasPrefix(got, "HTTP/1.1 408 Request Timeout\r\n") || !strings.Contains(got, `"code":"request_timeout"`) ||
				!strings.Contains(got, "arrived for 30s") || !strings.Contains(got, "Connection: close\r\n") {
				t.Errorf("with %q of the body: got %q", sent, got)
			}
			if took := time.Since(begun); took != bodyTimeout {
				t.Errorf("with %q of the body: it was answered after %v, want %v", sent, took, bodyTimeout)
			}
			<-c.served
		})
	}
}

// A request whose body arrives only a byte now and then, as data or as chunk framing, is eventually
// answered with 408.
func TestConnection_ABodyThatDribblesGets408(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, c := range []struct{ name, begin, rest string }{
		{"of a known length", strings.Replace(slowly, ": 17", ": 1000", 1), strings.Repeat("x", 1000)},
		{"a chunk", inChunks + "3e8\r\n", strings.Repeat("x", 1000)},
		{"an extension", inChunks + "1;", strings.Repeat("x", 1000)},
		{"a trailer", inChunks + "0\r\nX:", strings.Repeat("x", 1000)},
		{"chunks of one byte", inChunks, strings.Repeat("1\r\nx\r\n", 200)},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer conn.Close()
			begun := time.Now()
			var sending sync.WaitGroup
			sending.Go(func() {
				_, _ = io.WriteString(conn, c.begin) // an error shows in the answer
				dribble(conn, c.rest, 29*time.Second)
			})
			b, _ := io.ReadAll(conn)
			if got := string(b); !strings.HasPrefix(got, "HTTP/1.1 408 Request Timeout\r\n") || !strings.Contains(got, "not complete after 10m0s") {
				t.Errorf("%s: got %q", c.name, got)
			}
			if took := time.Since(begun); took != slowTime {
				t.Errorf("%s: it was answered after %v, want %v", c.name, took, slowTime)
			}
			<-conn.served
			sending.Wait()
		})
	}
}

// A large body may take a long time as long as it arrives fast enough.
func TestConnection_ALargeBodyOverASlowLineIsServed(t *testing.T) {
	s := configured(t, "- endpoint: {method: POST, path: /a, response: {body: '{{body|length}}'}}")
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		const pieces, size = 120, 20 * slowRate // one piece every 20 s, 40 min in all
		var sending sync.WaitGroup
		sending.Go(func() {
			_, _ = fmt.Fprintf(c, "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", pieces*size)
			dribbled := strings.Repeat("x", size)
			for range pieces {
				<-time.After(20 * time.Second)
				_, _ = io.WriteString(c, dribbled) // an error shows in the answer
			}
		})
		b, _ := io.ReadAll(c)
		if got := string(b); !strings.HasPrefix(got, "HTTP/1.1 200 OK") || !strings.HasSuffix(got, fmt.Sprint("\r\n\r\n", pieces*size)) {
			t.Errorf("got %q", got)
		}
		<-c.served
		sending.Wait()
	})
}

func TestConnection_OneThatSaysNothingIsClosedSilently(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, said := range []string{"", "GET", "\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			begun := time.Now()
			go func() { _, _ = io.WriteString(c, said) }()
			if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
				t.Errorf("%q: got %q, %v, want nothing", said, b, err)
			}
			if took := time.Since(begun); took != headerTimeout {
				t.Errorf("%q: it was closed after %v, want %v", said, took, headerTimeout)
			}
			<-c.served
		})
	}
}

// The time limit for a head begins with its first byte, not with the end of the previous request.
func TestConnection_ASecondHeadHasItsOwnTime(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, joined := range []bool{false, true} { // with the previous request
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			first, second := "GET /static HTTP/1.1\r\nHost: a\r\n\r\n", slowly
			want := 5*time.Minute + headerTimeout
			if joined {
				first, second, want = first+slowly[:10], slowly[10:], headerTimeout
			}
			begun := time.Now()
			var sending sync.WaitGroup
			sending.Go(func() {
				_, _ = io.WriteString(c, first) // an error shows in the answer
				if !joined {
					<-time.After(5*time.Minute - time.Second)
				}
				dribble(c, second, time.Second)
			})
			b, _ := io.ReadAll(c)
			if got := string(b); strings.Count(got, "HTTP/1.1") != 1 || !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
				t.Errorf("got %q, want one answer", got)
			}
			if took := time.Since(begun); took != want {
				t.Errorf("joined %v: it was closed after %v, want %v", joined, took, want)
			}
			<-c.served
			sending.Wait()
		})
	}
}

func TestConnection_HeadersThatKeepComingAreClosedSilently(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		begun := time.Now()
		var sending sync.WaitGroup
		sending.Go(func() { dribble(c, slowly, time.Second) })
		if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
			t.Errorf("got %q, %v, want nothing", b, err)
		}
		if took := time.Since(begun); took != headerTimeout {
			t.Errorf("it was closed after %v, want %v", took, headerTimeout)
		}
		<-c.served
		sending.Wait() // sending fails now that the server has closed
	})
}

func TestConnection_AReplyThatIsNotReadEnds(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		begun := time.Now()
		if _, err := io.WriteString(c, "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		err := <-c.served
		if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took < writeTimeout || took > 2*writeTimeout {
			t.Errorf("serving ended with %v after %v, want a timeout after %v", err, took, writeTimeout)
		}
	})
}

func TestConnection_AReplyThatIsReadTooSlowlyEnds(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		begun := time.Now()
		if _, err := io.WriteString(c, "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		for one := make([]byte, 1); ; {
			<-time.After(25 * time.Second)
			if _, err := c.Read(one); err != nil {
				break
			}
		}
		err := <-c.served
		if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took < slowTime || took > slowTime+2*writeTimeout {
			t.Errorf("serving ended with %v after %v, want a timeout after %v", err, took, slowTime)
		}
	})
}

// A stream ends half a minute after its client last took something, and may be read as slowly as that for as long as it
// lasts.
func TestConnection_AStreamThatIsNotReadEnds(t *testing.T) {
	s := configured(t, "- endpoint: {path: /, response: {stream: [{times: 10000, data: 0123456789}]}}")
	warm(t, s)
	for _, bytes := range []int{0, 1, 60} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			last := time.Now()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			for range bytes { // 60 take longer than any other response may
				<-time.After(25 * time.Second)
				if _, err := c.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				last = time.Now()
			}
			err := <-c.served
			if took := time.Since(last); !errors.Is(err, os.ErrDeadlineExceeded) || took < writeTimeout || took > writeTimeout+2*time.Second {
				t.Errorf("after %d bytes: serving ended with %v after %v, want a timeout after %v", bytes, err, took, writeTimeout)
			}
		})
	}
}

func TestConnection_AReplyThatIsReadSlowlyIsSentWhole(t *testing.T) {
	body := strings.Repeat("0123456789", 1000)
	s := configured(t, "- endpoint: {path: /long, response: {body: \""+body+"\"}}")
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		if _, err := io.WriteString(c, "GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for piece := make([]byte, 1000); ; {
			<-time.After(25 * time.Second)
			n, err := c.Read(piece)
			got = append(got, piece[:n]...)
			if err != nil {
				break
			}
		}
		if !strings.HasSuffix(string(got), "\r\n\r\n"+body) {
			t.Errorf("got %d bytes: %.100q", len(got), got)
		}
		<-c.served
	})
}

func TestConnection_AKeptOneIsServedAgainLongAfterItsDeadlinesPassed(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }}
		for range 3 {
			resp, err := (&http.Client{Transport: transport}).Post("http://a/orders", "application/json", strings.NewReader(`{"project": "ab"}`))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close() // it has been read to its end
			if string(b) != `{"project": "ab"}` || err != nil {
				t.Errorf("got %q, %v", b, err)
			}
			<-time.After(5 * time.Minute)
		}
		transport.CloseIdleConnections()
		<-c.served
	})
}

// The headers of a request after a slow body get their own ten seconds.
func TestConnection_HeadersAfterASlowBodyHaveTheirOwnTime(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		var sending sync.WaitGroup
		sending.Go(func() {
			head, rest := slowly[:10], slowly[10:]
			keep := strings.Replace(slowly, "Connection: close\r\n", "", 1)
			_, _ = io.WriteString(c, keep) // an error shows in the answers
			<-time.After(25 * time.Second)
			_, _ = io.WriteString(c, `{"project": "ab"}`+head)
			<-time.After(headerTimeout - time.Second)
			_, _ = io.WriteString(c, rest+`{"project": "cd"}`)
		})
		b, _ := io.ReadAll(c)
		if got := string(b); strings.Count(got, "HTTP/1.1 200 OK") != 2 || !strings.HasSuffix(got, `{"project": "cd"}`) {
			t.Errorf("got %q", got)
		}
		<-c.served
		sending.Wait()
	})
}
