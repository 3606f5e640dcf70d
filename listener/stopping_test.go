package listener

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// stopping is a listener whose connections are pipes.
func stopping() *connections {
	return newConnections(&queue{closed: make(chan struct{})}, slog.New(slog.DiscardHandler))
}

// end does what Shutdown does first.
func end(t *testing.T, l *connections) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.hurry()
}

func TestHurry_OfConnectionsAtAnyPoint(t *testing.T) {
	wait := func(c *connection, part time.Duration) error { return c.SetReadDeadline(time.Now().Add(part)) }
	for _, c := range []struct {
		name   string
		before func(c *connection) error // what the connection is at
		want   time.Duration             // how long reading goes on after the end
	}{
		{"silent", func(c *connection) error { return wait(c, headerTimeout) }, lastMoment},
		{"in its headers", func(c *connection) error {
			c.spoke.Store(true)
			return wait(c, headerTimeout)
		}, headerTimeout},
		{"in its body", func(c *connection) error {
			c.spoke.Store(true)
			return wait(c, bodyTimeout)
		}, bodyTimeout},
		{"waiting for the next request", func(c *connection) error {
			c.spoke.Store(true)
			return wait(c, idleTimeout)
		}, 0},
		{"in its second request", func(c *connection) error {
			c.spoke.Store(true)
			return errors.Join(wait(c, idleTimeout), wait(c, headerTimeout))
		}, headerTimeout},
	} {
		for _, reading := range []bool{true, false} { // when the end comes
			synctest.Test(t, func(t *testing.T) {
				peer, inner := net.Pipe()
				defer peer.Close()
				l := stopping()
				conn := l.adopt(inner)
				if err := c.before(conn); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				read := func() {
					_, err := conn.Read(make([]byte, 1))
					ended <- err
				}
				begun := time.Now()
				if reading {
					go read()
					synctest.Wait()
				}
				end(t, l)
				if !reading {
					go read()
				}
				if err := <-ended; err == nil {
					t.Errorf("%s: it was read from", c.name)
				}
				if took := time.Since(begun); took != c.want {
					t.Errorf("%s, reading %v: it ended after %v, want %v", c.name, reading, took, c.want)
				}
				_ = conn.Close() // both ends are in the test
			})
		}
	}
}

// A request and the end meet: whoever is first has the connection.
func TestHurry_MeetsARequest(t *testing.T) {
	peer, inner := net.Pipe()
	defer peer.Close()
	l := stopping()
	conn := l.adopt(inner)
	if err := conn.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		t.Fatal(err)
	}
	end(t, l)
	if err := conn.SetReadDeadline(time.Now().Add(headerTimeout)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: got %v, want that it is closed", err)
	}
}

// A connection that has answered its last request does not wait for another.
func TestSetReadDeadline_AfterTheEnd(t *testing.T) {
	peer, inner := net.Pipe()
	defer peer.Close()
	l := stopping()
	conn := l.adopt(inner)
	defer conn.Close()
	end(t, l)
	if err := conn.SetReadDeadline(time.Now().Add(idleTimeout)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want that it is closed", err)
	}
}

func TestAccept_ThatFailsEndsTheServer(t *testing.T) {
	s := configured(t, "[]")
	s.listener = newConnections(&queue{next: []any{syscall.EINVAL}, closed: make(chan struct{})}, s.log)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	s.accept()
	<-s.Done()
	if err := s.Err(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want why it cannot accept", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Err(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("after closing: got %v, want the same", err)
	}
}

func TestUnanswered_CountsTheRequestsThatWereCutOff(t *testing.T) {
	s := configured(t, "[]")
	close(s.drained)
	var closed []*connection
	for _, change := range []func(c *connection){
		func(c *connection) { c.spoke.Store(true) },
		func(c *connection) { c.spoke.Store(true) },
		func(*connection) {}, // silent
		func(c *connection) { c.spoke.Store(true); c.idle.Store(true) },
		func(c *connection) { c.spoke.Store(true); c.unread.Store(true) },
		func(c *connection) { c.spoke.Store(true); c.answered.Store(true) },
	} {
		c := &connection{}
		change(c)
		closed = append(closed, c)
	}
	if got := s.unanswered(closed); got != 2 {
		t.Errorf("got %d, want the first two", got)
	}
}

// Whoever serves a connection closes it too, which is no failure after the end.
func TestConnection_ClosedTwiceIsNoFailure(t *testing.T) {
	client, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	inner, err := net.Dial("tcp", client.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := stopping().adopt(inner)
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
