package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestHurry_OfConnectionsAtAnyPoint(t *testing.T) {
	const call = 7 * time.Second
	for _, c := range []struct {
		name                     string
		sent                     string
		reads                    int           // reads that return before the server stops
		lastCall                 time.Duration // as in Options
		whileReading, afterwards time.Duration // how long reading goes on after the stop
	}{
		{"silent", "", 0, 0, lastMoment, lastMoment},
		{"silent, with a last call", "", 0, call, call, call},
		{"in its headers", whole[:9], 0, call, headerTimeout, -1},
		{"in its body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 1, call, bodyTimeout, bodyTimeout},
		{"waiting for the next request", whole, 1, 0, 0, lastMoment},
		{"waiting for the next request, with a last call", whole, 1, call, call, call},
		{"in its second request", whole + whole[:9], 1, call, headerTimeout, headerTimeout},
		{"after an empty line", whole + "\r\n", 1, 0, 0, lastMoment},
		{"after an empty line, with a last call", whole + "\r\n", 1, call, call, call},
	} {
		for _, reading := range []bool{true, false} { // whether a read is in progress at the stop
			want := c.afterwards
			if reading {
				want = c.whileReading
			}
			if want < 0 {
				continue // bytes that are sent but not read do not count yet
			}
			synctest.Test(t, func(t *testing.T) {
				peer, inner := net.Pipe()
				defer peer.Close()
				l := stopping()
				conn := l.Adopt(inner)
				go func() { _, _ = io.WriteString(peer, c.sent) }() // if it fails, the reads below fail
				buf := make([]byte, MaxHeader)
				for range c.reads {
					if _, err := conn.Read(buf); err != nil {
						t.Fatal(c.name, err)
					}
				}
				ended := make(chan error, 1)
				read := func() {
					_, err := conn.Read(buf)
					ended <- err
				}
				begun := time.Now()
				if reading {
					go read()
					synctest.Wait()
				}
				end(t, l, c.lastCall)
				if !reading {
					go read()
				}
				if err := <-ended; err == nil {
					t.Errorf("%s: it was read from", c.name)
				}
				if took := time.Since(begun); took != want {
					t.Errorf("%s, reading %v: it ended after %v, want %v", c.name, reading, took, want)
				}
				_ = conn.Close() // an error would not matter: both ends are in the test
			})
		}
	}
}

// A request arrives just as the server stops: it is read, and has the usual timeouts.
func TestHurry_MeetsARequest(t *testing.T) {
	for _, first := range []bool{true, false} { // whether the stop comes first
		synctest.Test(t, func(t *testing.T) {
			peer, inner := net.Pipe()
			defer peer.Close()
			l := stopping()
			meets := &pointed{Conn: inner, n: 2, before: first, happened: func() { end(t, l, time.Second) }}
			conn := l.Adopt(meets)
			go func() { // if it fails, the reads fail
				_, _ = io.WriteString(peer, whole)
				_, _ = io.WriteString(peer, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
				<-time.After(bodyTimeout - time.Second)
				_, _ = io.WriteString(peer, "x")
			}()
			buf := make([]byte, MaxHeader)
			for part := range 3 {
				if _, err := conn.Read(buf); err != nil {
					t.Errorf("the end comes first %v: got %v when part %d was read", first, err, part)
				}
			}
			_ = conn.Close() // an error would not matter: both ends are in the test
		})
	}
}

// After its last response, a connection waits for another request for a moment.
func TestRead_AfterTheEnd(t *testing.T) {
	for _, lastCall := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			peer, inner := net.Pipe()
			defer peer.Close()
			l := stopping()
			conn := l.Adopt(inner)
			defer conn.Close()
			end(t, l, lastCall)
			conn.framing.requests = 1
			begun := time.Now()
			_, err := conn.Read(make([]byte, MaxHeader))
			if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took != max(lastCall, lastMoment) {
				t.Errorf("with a last call of %v: got %v after %v", lastCall, err, took)
			}
		})
	}
}

// A connection that was being accepted when CloseAll was called is closed.
func TestAdopt_AfterCloseAllClosesTheConnection(t *testing.T) {
	peer, inner := net.Pipe()
	if err := peer.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	l := stopping()
	l.CloseAll()
	l.Adopt(inner)
	if n, err := peer.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		t.Errorf("got %d bytes, %v, want it closed", n, err)
	}
	if open := len(l.all()); open > 0 {
		t.Errorf("%d connections are open", open)
	}
}

// The code that serves a connection also closes it, which is not an error after CloseAll.
func TestConnection_ClosingTwiceIsNoError(t *testing.T) {
	client, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	inner, err := net.Dial("tcp", client.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn := stopping().Adopt(inner)
	for range 2 {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestIsUnanswered(t *testing.T) {
	n := 0
	for _, change := range []func(c *Connection){
		func(c *Connection) { c.spoke.Store(true) },
		func(c *Connection) { c.spoke.Store(true) },
		func(*Connection) {}, // silent
		func(c *Connection) { c.spoke.Store(true); c.idle.begin() },
		func(c *Connection) { c.spoke.Store(true); c.unread.Store(true) },
		func(c *Connection) { c.spoke.Store(true); c.answered.Store(true) },
	} {
		c := &Connection{}
		if change(c); c.IsUnanswered() {
			n++
		}
	}
	if n != 2 {
		t.Errorf("got %d, want the first two", n)
	}
}
