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
		reads, requests          int           // that end before the server stops
		lastCall                 time.Duration // as in Options
		whileReading, afterwards time.Duration // how long reading goes on after the stop
	}{
		{"silent", "", 0, 0, 0, lastMoment, lastMoment},
		{"silent, with a last call", "", 0, 0, call, call, call},
		{"in its headers", whole[:9], 0, 0, call, headerTimeout, -1},
		{"in its body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 1, 0, call, bodyTimeout, bodyTimeout},
		{"waiting for the next request", whole, 1, 1, 0, 0, lastMoment},
		{"waiting for the next request, with a last call", whole, 1, 1, call, call, call},
		{"in its second request", whole + whole[:9], 1, 1, call, headerTimeout, headerTimeout},
		{"after an empty line", whole + "\r\n", 1, 1, 0, 0, lastMoment},
		{"after an empty line, with a last call", whole + "\r\n", 1, 1, call, call, call},
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
				requests := 0
				l := served(stopping(), stub{serve: func(*Exchange) { requests++ }})
				stop := func() { end(t, l, c.lastCall) }
				conn := l.Adopt(&pointed{Conn: inner, N: c.reads, Happened: stop}) // unless it happens before, or while, a read is in progress
				if reading {
					conn.Conn = inner
				} else if c.reads == 0 {
					stop()
				}
				go func() { _, _ = io.WriteString(peer, c.sent) }() // if it fails, there are no requests
				ended := make(chan struct{})
				begun := time.Now()
				go func() {
					_ = conn.Serve() // the time shows how it ended
					close(ended)
				}()
				if reading {
					synctest.Wait()
					stop()
				}
				<-ended
				if took := time.Since(begun); took != want || requests != c.requests {
					t.Errorf("%s, reading %v: it ended after %v and %d requests, want %v and %d", c.name, reading, took, requests, want, c.requests)
				}
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
			meets := &pointed{Conn: inner, N: 2, Before: first, Happened: func() { end(t, l, time.Second) }}
			conn := l.Adopt(meets)
			go func() { // if it fails, the reads fail
				_, _ = io.WriteString(peer, whole)
				_, _ = io.WriteString(peer, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
				<-time.After(bodyTimeout - time.Second)
				_, _ = io.WriteString(peer, "x")
			}()
			requests := 0
			served(l, stub{serve: func(x *Exchange) {
				requests++
				x.Last = requests == 2
			}})
			if err := conn.Serve(); err != nil || requests != 2 {
				t.Errorf("the end comes first %v: got %d requests, %v", first, requests, err)
			}
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
			conn.requests = 1
			conn.input()
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
		func(c *Connection) { c.spoke.Store(true); c.beginIdle(isIdle) },
		func(c *Connection) { c.spoke.Store(true); c.unread.Store(true) },
		func(c *Connection) { c.spoke.Store(true); c.answered.Store(true) },
	} {
		c := &Connection{}
		if change(c); c.WasCutOff() {
			n++
		}
	}
	if n != 2 {
		t.Errorf("got %d, want the first two", n)
	}
}
