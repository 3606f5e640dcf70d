package dispatcher

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted returns a target that calls script for each connection, numbered from 1, and then closes
// the connection. If unread data is left, closing causes a reset.
func scripted(t *testing.T, script func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	ended.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			ended.Go(func() {
				defer c.Close()
				script(n, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		ended.Wait()
	})
	return "http://" + l.Addr().String()
}

// readRequest reads a complete request, and reports whether there was one.
func readRequest(in *bufio.Reader) bool {
	var have []byte
	for {
		b, err := in.ReadByte()
		if err != nil {
			return false
		}
		if have = append(have, b); wholeRequest(have) > 0 {
			return true
		}
	}
}

// respondingWith starts a target that responds to each request on its connections with the same text.
func respondingWith(t *testing.T, response string) (url string, connections func() int) {
	t.Helper()
	var mu sync.Mutex
	most := 0
	url = scripted(t, func(n int, c net.Conn) {
		mu.Lock()
		most = max(most, n)
		mu.Unlock()
		for in := bufio.NewReader(c); readRequest(in); {
			if _, err := io.WriteString(c, response); err != nil {
				return
			}
		}
	})
	return url, func() int {
		mu.Lock()
		defer mu.Unlock()
		return most
	}
}

// failures stores what a queue reports about failed attempts.
type failures struct {
	mu   sync.Mutex
	said []Failure
}

func (f *failures) add(one Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, one)
}

func (f *failures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, one := range f.said {
		fmt.Fprintf(&b, "%d %v; ", one.Status, one.Err)
	}
	return b.String()
}

// A response counts as soon as its status line and head are complete. The connection is reused if
// the rest of the response was read completely.
func TestResponse_Counts(t *testing.T) {
	long := strings.Repeat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", 200)
	cases := []struct {
		name, method, response string
		again                  bool
	}{
		{"no body", "POST", okResponse, true},
		{"body", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true},
		{"body over the room", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("b", 100000), true},
		{"head of 5 KiB", "POST", "HTTP/1.1 200 OK\r\n" + long[:5*1010] + "Content-Length: 1\r\n\r\nb", true},
		{"head of 20 KiB", "POST", "HTTP/1.1 200 OK\r\n" + long[:20*1010] + "Content-Length: 1\r\n\r\nb", true},
		{"head of 200 KiB", "POST", "HTTP/1.1 200 OK\r\n" + long + "Content-Length: 1\r\n\r\nb", true},
		{"chunks", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", true},
		{"chunks and a trailer", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n", true},
		{"204", "POST", "HTTP/1.1 204 No Content\r\n\r\n", true},
		{"204 says it has no body", "POST", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", true},
		{"304", "POST", "HTTP/1.1 304 Not Modified\r\n\r\n", true},
		{"304 says a length", "POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", true},
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true},
		{"interim answers", "POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + okResponse, true},

		{"closing", "POST", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false},
		{"closing in capitals", "POST", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n", false},
		{"HTTP/1.0", "POST", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
		{"HTTP/1.0 in chunks", "POST", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", false},
		{"204 says a length", "POST", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false},
		{"204 in chunks", "POST", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		{"304 says a length, and has a body", "POST", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", false},
		{"another protocol", "POST", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", false},
		{"more than was announced", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nbody", false},
		{"a body of a gigabyte", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nbody", false},
		{"chunks without an end", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+strings.Repeat("c", 0x10000)+"\r\n", 17), false},
		{"chunks that are none", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", false},
		{"a trailer without an end", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X-T: 1\r\n", 3000), false},
		{"lengths that contradict", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nb", false},
		{"another coding", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nb", false},
		{"a header that is none", "POST", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", false},
		{"a length that is none", "POST", "HTTP/1.1 200\r\nContent-Length: x\r\n\r\n", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			url, connections := respondingWith(t, c.response)
			var failed failures
			q := opened(t, Options{Failed: failed.add})
			w := hook(url)
			w.Method = c.method
			for i := range int64(3) {
				enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
				s := until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 })
				if s.Delivered != i+1 {
					t.Fatalf("%d of %d delivered: %v", s.Delivered, i+1, &failed)
				}
			}
			if want := map[bool]int{true: 1, false: 3}[c.again]; connections() != want {
				t.Errorf("%d connections for 3 deliveries, want %d", connections(), want)
			}
		})
	}
}

// Anything other than a response is reported as a failure with a reason.
func TestResponse_Fails(t *testing.T) {
	cases := []struct{ name, response, why string }{
		{"nothing", "", "EOF"},
		{"half a status line", "HTTP/1.1 20", "EOF"},
		{"half a head", "HTTP/1.1 200 OK\r\nContent-Le", "EOF"},
		{"a head without its end", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "EOF"},
		{"interim only", "HTTP/1.1 100 Continue\r\n\r\n", "EOF"},
		{"interim for ever", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 65), "interim"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", `is not HTTP/1: it begins with "SSH-2.0-OpenSSH_9.6"`},
		{"no HTTP, and much", strings.Repeat("\x01", 200000) + "\r\n\r\n", `\x01"…`},
		{"a status that is none, and much", "HTTP/1.1 2000 OK\r\nSet-Cookie: secret\r\n" + strings.Repeat("x", 3000) + "\r\n\r\n", `it begins with "HTTP/1.1 2000 OK"; `},
		{"no status", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n", `"HTTP/1.1 OK"`},
		{"an interim answer that is none", "HTTP/1.1 100 Continue\r\nno colon\r\n\r\n", `"HTTP/1.1 100 Continue"`},
		{"a status below 100", "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n", `it begins with "HTTP/1.1 099 X"`},
		{"HTTP/2", "HTTP/2.0 abc\r\n\r\n", `"HTTP/2.0 abc"`},
		{"a head of 300 KiB", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", 300), "larger than 256 KiB"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			url := scripted(t, func(_ int, conn net.Conn) {
				if readRequest(bufio.NewReader(conn)) {
					io.WriteString(conn, c.response)
				}
			})
			var failed failures
			q := opened(t, Options{Failed: failed.add})
			enqueue(q, NewDelivery(hook(url), 0, 1, Parts{}), time.Now())
			s := until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 })
			if s.Dead != 1 || !strings.Contains(failed.String(), c.why) {
				t.Errorf("%d dead, %.1000v; want %q in it", s.Dead, failed.String(), c.why)
			}
			if said := failed.String(); len(said) > 400 {
				t.Errorf("the message has %d bytes: %.400s", len(said), said)
			}
		})
	}
}

// A status is valid even if the body is cut off, or stalls until the timeout.
func TestResponse_BodyBreaksOff(t *testing.T) {
	for _, head := range []string{"Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n", ""} {
		for _, stalls := range []bool{false, true} {
			t.Run(fmt.Sprint(head, stalls), func(t *testing.T) {
				ended := make(chan struct{})
				url := scripted(t, func(_ int, c net.Conn) {
					if !readRequest(bufio.NewReader(c)) {
						return
					}
					io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n10\r\nhalf")
					if stalls {
						io.Copy(io.Discard, c) // until the peer closes the connection
						close(ended)
					}
				})
				var failed failures
				q := opened(t, Options{Failed: failed.add})
				w := hook(url)
				if stalls {
					w.Timeout = 100 * time.Millisecond
				}
				enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
				if s := until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 }); s.Delivered != 1 {
					t.Errorf("%d delivered: %v", s.Delivered, &failed)
				}
				if stalls {
					<-ended // the connection is closed, not kept
				}
			})
		}
	}
}

// A response counts even if the target sends it before it has read the whole request: the request
// cannot be written completely, but there is a response.
func TestResponse_BeforeTheRequestIsRead(t *testing.T) {
	url := scripted(t, func(_ int, c net.Conn) {
		c.Read(make([]byte, 100))
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
		c.(*net.TCPConn).CloseWrite()
	})
	var failed failures
	q := opened(t, Options{Failed: failed.add})
	w := hook(url)
	w.Body = bytes.Repeat([]byte("x"), 32<<20) // more than all buffers in between can store
	w.Retry = Retry{Attempts: 3, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}
	enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
	s := until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 })
	if got := failed.String(); got != "413 <nil>; " || s.Retried != 0 {
		t.Errorf("got %s and %d retries, want one 413, which is not tried again", got, s.Retried)
	}
}

// The response also counts if the target neither continues reading nor closes the connection; it is
// read when the write has timed out.
func TestResponse_BeforeTheRequestIsReadAndItStaysOpen(t *testing.T) {
	url := scripted(t, func(_ int, c net.Conn) {
		c.Read(make([]byte, 100))
		io.WriteString(c, okResponse)
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		waitClosed(c)
	})
	var failed failures
	q := opened(t, Options{Failed: failed.add})
	w := hook(url)
	w.Body = bytes.Repeat([]byte("x"), 32<<20)
	w.Timeout = 200 * time.Millisecond
	enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
	if s := until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 }); s.Delivered != 1 {
		t.Errorf("not delivered: %v", &failed)
	}
}

// waitClosed waits until the peer has closed the connection, without reading what it sent.
func waitClosed(c net.Conn) {
	for {
		if _, err := io.WriteString(c, " "); err != nil {
			return
		}
	}
}

// A large request is sent completely, in more than one piece.
func TestResponse_ToALargeRequest(t *testing.T) {
	body := bytes.Repeat([]byte("body "), 100<<10)
	got := make(chan bool, 2)
	url := scripted(t, func(_ int, c net.Conn) {
		in := bufio.NewReader(c)
		var head []byte
		for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			head = append(head, line...)
		}
		received := make([]byte, len(body))
		_, err := io.ReadFull(in, received)
		got <- err == nil && bytes.Equal(received, body)
		io.WriteString(c, okResponse)
	})
	q := opened(t, Options{})
	enqueue(q, NewDelivery(hook(url), 0, 1, Parts{Body: body}), time.Now())
	if !<-got {
		t.Error("the body arrives changed")
	}
	until(t, q, "delivered", func(s Stats) bool { return s.Delivered == 1 })
}
