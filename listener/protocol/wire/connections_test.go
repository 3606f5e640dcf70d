package wire

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccept_OutlastsWhatPasses(t *testing.T) {
	for _, passing := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPERM,
		// The errors that accept(2) tells servers to treat like EAGAIN, except ENONET, which only
		// Linux has.
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
			l := New(q, slog.New(slog.NewTextHandler(&logged, nil)))
			begun := time.Now()
			got, err := l.Accept()
			if c, ok := got.(*Connection); err != nil || !ok || c.Conn != conn {
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

// A failure to accept a connection counts if some resource has run out; while only reserved
// descriptors are left, only the first failure counts, because perhaps no connection is waiting.
func TestAccept_CountsWhatRanOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		errors []any
		want   uint64
	}{
		{"no descriptors", []any{syscall.EMFILE, syscall.EMFILE, syscall.ENFILE}, 3},
		{"clients that left", []any{syscall.ECONNABORTED, syscall.ECONNABORTED, syscall.EPERM}, 0},
		{"descriptors that are kept", []any{errReserved, errReserved, errReserved}, 1},
		{"and then none", []any{errReserved, syscall.EMFILE, errReserved}, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, conn := net.Pipe()
			_, again := net.Pipe()
			q := &queue{next: append(append(c.errors, conn), append(c.errors, again)...), closed: make(chan struct{})}
			l := New(q, slog.New(slog.DiscardHandler))
			for i := range uint64(2) {
				if _, err := l.Accept(); err != nil || l.Failures() != (i+1)*c.want {
					t.Errorf("%s: %v, %d failures, want %d", c.name, err, l.Failures(), (i+1)*c.want)
				}
			}
		})
	}
}

func TestAccept_DoesNotOutlastAnyOtherError(t *testing.T) {
	q := &queue{next: []any{syscall.EINVAL}, closed: make(chan struct{})}
	if _, err := New(q, slog.New(slog.DiscardHandler)).Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want it unchanged", err)
	}
}

func TestAccept_IsEndedByCloseWhileItPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{next: []any{syscall.EMFILE}, closed: make(chan struct{})}
		l := New(q, slog.New(slog.DiscardHandler))
		begun := time.Now()
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		<-time.After(10*time.Second + time.Millisecond) // bubble time: a pause of a second has begun
		synctest.Wait()
		if most := 25; q.asked > most {
			t.Errorf("the listener accepted %d times in 10 s, want at most %d", q.asked, most)
		}
		closing := time.Now()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want it closed", err)
		}
		if took := time.Since(closing); took != 0 {
			t.Errorf("it ended %v after it was closed (%v in all), want at once", took, time.Since(begun))
		}
	})
}

// counted is a connection that counts how often its read deadline is set.
type counted struct {
	net.Conn
	set int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.set++
	return c.Conn.SetReadDeadline(t)
}

// While requests arrive complete and in quick succession, no new deadline is set.
func TestConnection_SetsFewDeadlines(t *testing.T) {
	inner := &counted{}
	l := New(nil, slog.New(slog.DiscardHandler))
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		inner.Conn = server
		conn := l.Adopt(inner)
		const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
		var sending sync.WaitGroup
		sending.Go(func() {
			for range 100 {
				_, _ = io.WriteString(client, request) // if it fails, the read fails
			}
		})
		n := 0
		served(l, stub{serve: func(x *Exchange) {
			<-time.After(time.Second)
			n++
			x.Last = n == 100
		}})
		if err := conn.Serve(); err != nil || n != 100 {
			t.Errorf("got %d requests, %v", n, err)
		}
		sending.Wait()
	})
	if inner.set > 3 {
		t.Errorf("the deadline was set %d times in 100 s, want at the beginning only", inner.set)
	}
}

// halfClosing is a connection whose sending side can be closed alone, as in TCP.
type halfClosing struct {
	net.Conn
	ended bool // the sending side is closed
}

func (h *halfClosing) CloseWrite() error { h.ended = true; return nil }

func TestConnection_ClosingARefusedOneWaitsForItsClient(t *testing.T) {
	ordinary := func(c *Connection) { c.spoke.Store(true) }
	refused := func(c *Connection) { c.unread.Store(true) }
	ended := func(c *Connection) { _ = c.from.Close() } // closing a queue does not fail
	for _, c := range []struct {
		name   string
		state  func(c *Connection)
		waits  bool
		client func(l *Connections, peer net.Conn)
		want   time.Duration // until it is closed
	}{
		{"an ordinary one is closed at once", ordinary, false, nil, 0},
		{"so is a silent one when the server has ended", ended, false, nil, 0},
		{"so is an idle one", func(c *Connection) {
			ordinary(c)
			ended(c)
			c.requests = 1
			c.input()
			_, _ = c.Read(make([]byte, 1)) // fails, which TestRead_AfterTheEnd tests
		}, false, nil, 0},
		{"one that has its last answer is waited for", func(c *Connection) { ordinary(c); ended(c) }, true, func(_ *Connections, peer net.Conn) {
			dribble(peer, "abc", 400*time.Millisecond)
			_ = peer.Close() // closing a pipe does not fail
		}, 1200 * time.Millisecond},
		{"one that keeps sending is waited for", refused, true, func(_ *Connections, peer net.Conn) {
			dribble(peer, "abc", 400*time.Millisecond)
			_ = peer.Close() // closing a pipe does not fail
		}, 1200 * time.Millisecond},
		{"one that has reached its maximum age is waited for", func(c *Connection) {
			ordinary(c)
			c.expires = 1
			c.from.clock.since.Store(1)
		}, true, func(_ *Connections, peer net.Conn) {
			dribble(peer, "abc", 400*time.Millisecond)
			_ = peer.Close() // closing a pipe does not fail
		}, 1200 * time.Millisecond},
		{"one that is silent is not waited for long", refused, true, nil, lingerTime},
		{"one that never ends is not waited for long", refused, true, func(_ *Connections, peer net.Conn) {
			dribble(peer, strings.Repeat("x", 1000), 300*time.Millisecond)
		}, lingerTime},
		{"none is waited for when the server ends", refused, true, func(l *Connections, _ net.Conn) {
			<-time.After(time.Second)
			l.CloseAll()
		}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peer, inner := net.Pipe()
				half := &halfClosing{Conn: inner}
				l := stopping()
				conn := l.Adopt(half)
				c.state(conn)
				var client sync.WaitGroup
				if c.client != nil {
					client.Go(func() { c.client(l, peer) })
				}
				begun := time.Now()
				_ = conn.Close() // CloseAll may have come first
				if took := time.Since(begun); took != c.want {
					t.Errorf("it was closed after %v, want %v", took, c.want)
				}
				if half.ended != c.waits {
					t.Errorf("its sending side was closed first: %v, want %v", half.ended, c.waits)
				}
				if len(l.open) > 0 {
					t.Error("the connection is still registered")
				}
				client.Wait()
			})
		})
	}
}

// dribble sends a text byte by byte, with a pause before each.
func dribble(w io.Writer, text string, pause time.Duration) {
	for i := range len(text) {
		<-time.After(pause)
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return // the server has closed the connection
		}
	}
}

// After some errors of Windows, another connection may be accepted.
func TestErrorsOfWindowsPass(t *testing.T) {
	if !passes(os.NewSyscallError("accept", syscall.Errno(10024))) || passes(os.NewSyscallError("accept", syscall.Errno(10048))) {
		t.Error("passes does not know the errors of Windows")
	}
}
