package listener

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a listener that gives what is in it, the last of it for ever, until it
// is closed.
type queue struct {
	next   []any // error or net.Conn
	asked  int
	closed chan struct{}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case <-q.closed:
		return nil, net.ErrClosed
	default:
	}
	q.asked++
	first := q.next[0]
	if len(q.next) > 1 {
		q.next = q.next[1:]
	}
	if err, ok := first.(error); ok {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return first.(net.Conn), nil
}

func (q *queue) Close() error   { close(q.closed); return nil }
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }

func TestAccept_OutlastsWhatPasses(t *testing.T) {
	for _, passing := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPERM,
		// Those that accept(2) tells servers to treat like EAGAIN, but for ENONET, which is Linux's alone.
		syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
		syscall.EOPNOTSUPP, syscall.ENETUNREACH,
		syscall.ETIMEDOUT, // as net/http does
	} {
		synctest.Test(t, func(t *testing.T) {
			peer, conn := net.Pipe()
			defer peer.Close()
			defer conn.Close()
			var logged bytes.Buffer
			q := &queue{next: []any{passing, passing, passing, passing, conn}, closed: make(chan struct{})}
			l := newConnections(q, slog.New(slog.NewTextHandler(&logged, nil)))
			begun := time.Now()
			got, err := l.Accept()
			if c, ok := got.(*connection); err != nil || !ok || c.Conn != conn {
				t.Fatalf("after %v: got %v, %v, want the connection", passing, got, err)
			}
			if took, want := time.Since(begun), 75*time.Millisecond; took != want { // 5 + 10 + 20 + 40
				t.Errorf("after %v: it paused for %v, want %v", passing, took, want)
			}
			if lines := strings.Count(logged.String(), "cannot accept a connection"); lines != 1 {
				t.Errorf("after %v: got %d lines within a second, want 1:\n%s", passing, lines, &logged)
			}
		})
	}
}

func TestAccept_DoesNotOutlastAnyOtherError(t *testing.T) {
	q := &queue{next: []any{syscall.EINVAL}, closed: make(chan struct{})}
	if _, err := newConnections(q, slog.New(slog.DiscardHandler)).Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want it as it is", err)
	}
}

func TestAccept_IsEndedByCloseWhileItPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{next: []any{syscall.EMFILE}, closed: make(chan struct{})}
		l := newConnections(q, slog.New(slog.DiscardHandler))
		begun := time.Now()
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		<-time.After(10*time.Second + time.Millisecond) // of the bubble: a pause of a second has begun
		synctest.Wait()
		if most := 25; q.asked > most {
			t.Errorf("it asked %d times in 10 s, want at most %d", q.asked, most)
		}
		closing := time.Now()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want that it is closed", err)
		}
		if took := time.Since(closing); took != 0 {
			t.Errorf("it ended %v after it was closed (%v in all), want at once", took, time.Since(begun))
		}
	})
}

// conversation is a connection of a client, and what serving it came to.
type conversation struct {
	net.Conn
	from   *connections
	served chan error
}

// talk serves one connection of a server in a bubble.
func talk(t *testing.T, s *Server) *conversation {
	t.Helper()
	client, inner := net.Pipe()
	l := newConnections(nil, slog.New(slog.DiscardHandler))
	l.single = func() bool { return s.snapshot.Load().single }
	conn := l.adopt(inner)
	c := &conversation{client, l, make(chan error, 1)}
	go func() {
		err := conn.serve(s.http.ServeConn)
		_ = conn.Close() // as the server does after each
		c.served <- err
	}()
	return c
}

// warm lets fasthttp start what it starts once, outside of any bubble.
func warm(t *testing.T, s *Server) {
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
			_, _ = io.WriteString(c, slowly) // what it misses shows in the answer
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

func TestConnection_ABodyThatStandsStillIsAnswered408(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, sent := range []string{"", `{"proj`} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			begun := time.Now()
			go func() { _, _ = io.WriteString(c, slowly+sent) }() // what it misses shows in the answer
			b, _ := io.ReadAll(c)
			got := string(b)
			if !strings.HasPrefix(got, "HTTP/1.1 408 Request Timeout\r\n") || !strings.Contains(got, `"code":"request_timeout"`) ||
				!strings.Contains(got, "came for 30s") || !strings.Contains(got, "Connection: close\r\n") {
				t.Errorf("with %q of the body: got %q", sent, got)
			}
			if took := time.Since(begun); took != bodyTimeout {
				t.Errorf("with %q of the body: it was answered after %v, want %v", sent, took, bodyTimeout)
			}
			<-c.served
		})
	}
}

// A body of which a byte comes now and then, data or not, does not last for ever.
func TestConnection_ABodyThatDribblesIsAnswered408(t *testing.T) {
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
				_, _ = io.WriteString(conn, c.begin) // what it misses shows in the answer
				dribble(conn, c.rest, 29*time.Second)
			})
			b, _ := io.ReadAll(conn)
			if got := string(b); !strings.HasPrefix(got, "HTTP/1.1 408 Request Timeout\r\n") || !strings.Contains(got, "not whole after 10m0s") {
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

// A large body may take long as long as enough of it comes.
func TestConnection_ALargeBodyOverASlowLineIsServed(t *testing.T) {
	s := configured(t, "- endpoint: {method: POST, path: /a, response: {body: '{{body|length}}'}}")
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		const pieces, size = 120, 20 * slowRate // a piece each 20 s, which is 40 min
		var sending sync.WaitGroup
		sending.Go(func() {
			_, _ = fmt.Fprintf(c, "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", pieces*size)
			dribbled := strings.Repeat("x", size)
			for range pieces {
				<-time.After(20 * time.Second)
				_, _ = io.WriteString(c, dribbled) // what it misses shows in the answer
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

// The time of a head begins with its first byte, not with the end of the request
// before it.
func TestConnection_ASecondHeadHasItsOwnTime(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, joined := range []bool{false, true} { // to the request before it
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
				_, _ = io.WriteString(c, first) // what it misses shows in the answer
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
		sending.Wait() // it fails now that the server has closed
	})
}

func TestConnection_AnAnswerThatIsNotReadEnds(t *testing.T) {
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
			t.Errorf("serving ended with %v after %v, want a time-out after %v", err, took, writeTimeout)
		}
	})
}

func TestConnection_AnAnswerThatIsReadTooSlowlyEnds(t *testing.T) {
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
			t.Errorf("serving ended with %v after %v, want a time-out after %v", err, took, slowTime)
		}
	})
}

func TestConnection_AnAnswerThatIsReadSlowlyIsSentWhole(t *testing.T) {
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
			_ = resp.Body.Close() // it is read to its end
			if string(b) != `{"project": "ab"}` || err != nil {
				t.Errorf("got %q, %v", b, err)
			}
			<-time.After(5 * time.Minute)
		}
		transport.CloseIdleConnections()
		<-c.served
	})
}

// The headers of a request that begin behind a slow body have their own ten
// seconds.
func TestConnection_HeadersBehindASlowBodyHaveTheirOwnTime(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		var sending sync.WaitGroup
		sending.Go(func() {
			head, rest := slowly[:10], slowly[10:]
			keep := strings.Replace(slowly, "Connection: close\r\n", "", 1)
			_, _ = io.WriteString(c, keep) // what they miss shows in the answers
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

// counted counts how often its read deadline is set.
type counted struct {
	net.Conn
	set int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.set++
	return c.Conn.SetReadDeadline(t)
}

// Requests that come whole and close together share one deadline.
func TestConnection_SetsFewDeadlines(t *testing.T) {
	inner := &counted{}
	l := newConnections(nil, slog.New(slog.DiscardHandler))
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		inner.Conn = server
		conn := l.adopt(inner)
		const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
		var sending sync.WaitGroup
		sending.Go(func() {
			for range 100 {
				_, _ = io.WriteString(client, request) // what it misses is not read
			}
		})
		buf := make([]byte, maxHeader)
		for range 100 {
			if n, err := conn.Read(buf); err != nil || string(buf[:n]) != request {
				t.Errorf("got %q, %v", buf[:n], err)
			}
			<-time.After(time.Second)
		}
		_ = conn.Close() // both ends are in the test
		sending.Wait()
	})
	if inner.set < 10 || inner.set > 25 {
		t.Errorf("the deadline was set %d times in 100 s, want once in five", inner.set)
	}
}

// halfClosing is a connection whose sending side closes alone, as TCP's does.
type halfClosing struct {
	net.Conn
	ended bool // the sending side is closed
}

func (h *halfClosing) CloseWrite() error { h.ended = true; return nil }

func TestConnection_ClosingARefusedOneWaitsForItsClient(t *testing.T) {
	ordinary := func(c *connection) { c.spoke.Store(true) }
	refused := func(c *connection) { c.unread.Store(true) }
	ended := func(c *connection) { _ = c.from.Close() } // of a queue, which does not fail
	for _, c := range []struct {
		name   string
		state  func(c *connection)
		waits  bool
		client func(l *connections, peer net.Conn)
		want   time.Duration // until it is closed
	}{
		{"an ordinary one is closed at once", ordinary, false, nil, 0},
		{"so is a silent one when the server has ended", ended, false, nil, 0},
		{"so is an idle one", func(c *connection) {
			ordinary(c)
			ended(c)
			c.wire.requests = 1
			_, _ = c.Read(make([]byte, 1)) // fails, which TestRead_AfterTheEnd looks at
		}, false, nil, 0},
		{"one that has its last answer is waited for", func(c *connection) { ordinary(c); ended(c) }, true, func(_ *connections, peer net.Conn) {
			dribble(peer, "abc", 400*time.Millisecond)
			_ = peer.Close() // of a pipe, which does not fail
		}, 1200 * time.Millisecond},
		{"one that goes on sending is waited for", refused, true, func(_ *connections, peer net.Conn) {
			dribble(peer, "abc", 400*time.Millisecond)
			_ = peer.Close() // of a pipe, which does not fail
		}, 1200 * time.Millisecond},
		{"one that is silent is not waited for long", refused, true, nil, lingerTime},
		{"one that never ends is not waited for long", refused, true, func(_ *connections, peer net.Conn) {
			dribble(peer, strings.Repeat("x", 1000), 300*time.Millisecond)
		}, lingerTime},
		{"none is when the server ends", refused, true, func(l *connections, _ net.Conn) {
			<-time.After(time.Second)
			l.closeAll()
		}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peer, inner := net.Pipe()
				half := &halfClosing{Conn: inner}
				l := stopping()
				conn := l.adopt(half)
				c.state(conn)
				var client sync.WaitGroup
				if c.client != nil {
					client.Go(func() { c.client(l, peer) })
				}
				begun := time.Now()
				_ = conn.Close() // closeAll may have been before it
				if took := time.Since(begun); took != c.want {
					t.Errorf("it was closed after %v, want %v", took, c.want)
				}
				if half.ended != c.waits {
					t.Errorf("its sending side was closed first: %v, want %v", half.ended, c.waits)
				}
				if len(l.open) > 0 {
					t.Error("it is not forgotten")
				}
				client.Wait()
			})
		})
	}
}
