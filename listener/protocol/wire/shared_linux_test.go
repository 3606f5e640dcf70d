package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// sharing is parks, with a count of what the goroutine of the set, and others, were given to serve.
func sharingBy(t *testing.T, h Handler) (p *parking, shared, others chan struct{}) {
	p = parksBy(t, h)
	shared, others = make(chan struct{}, 1000), make(chan struct{}, 1000)
	serve := p.Share
	p.Share = func(c *Connection) {
		shared <- struct{}{}
		serve(c)
	}
	p.resuming.Store(new(func() { others <- struct{}{} }))
	return p, shared, others
}

// slowly is stub, with requests of /slow that may take long.
type slowly struct{ stub }

func (s slowly) Answer(c *Connection, p *Plain) (Later, error) {
	if string(p.Target) == "/slow" && c.IsShared() {
		return slow{c}, nil
	}
	return s.stub.Answer(c, p)
}

// slow is the answer to such a request.
type slow struct{ c *Connection }

func (s slow) Serve() (last bool, err error) {
	if s.c.IsShared() || string(s.c.plain.Target) != "/slow" {
		return true, errors.New("it was not left to another goroutine")
	}
	_, err = io.WriteString(s.c, answered)
	return false, err
}

// The first requests of a connection are served by the goroutine of the set, unless they may take long, are
// not complete, are not alone, or their responses are not taken by the socket. Those that follow quickly
// are served by a goroutine of the connection. The client gets the same responses in any case.
func TestShared_WhatIsLeftToOthers(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 16<<20)
	h := slowly{stub{
		plain: func(c *Connection, p *Plain) error {
			switch b := []byte(answered); {
			case string(p.Target) == "/long":
				for i := 0; i < len(long); i += 32 << 10 {
					if _, err := c.Write(long[i : i+32<<10]); err != nil {
						return err
					}
				}
				return nil
			default:
				_, err := c.Write(b)
				return err
			}
		},
		serve: func(x *Exchange) { _, _ = x.Conn.Write([]byte(answered)) },
	}}
	slow, last := strings.Replace(whole, "/ ", "/slow ", 1), strings.Replace(whole, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
	for name, c := range map[string]struct {
		sent  []string
		moved bool // to another goroutine
		want  string
	}{
		"quick":                {[]string{whole, whole, last}, false, strings.Repeat(answered, 3)},
		"slow":                 {[]string{slow, last}, true, strings.Repeat(answered, 2)},
		"slow and last":        {[]string{strings.Replace(slow, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)}, true, answered},
		"in pieces":            {[]string{last[:10], last[10:]}, true, answered},
		"general":              {[]string{"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}, true, answered},
		"a response too large": {[]string{strings.Replace(last, "/ ", "/long ", 1)}, true, string(long)},
		"more than the last":   {[]string{last + whole}, true, answered},
	} {
		p, shared, others := sharingBy(t, h)
		client, in, conn := p.client(t)
		conn.becomes(t, isParked)
		for len(others) > 0 { // the one that has parked it
			<-others
		}
		for i, part := range c.sent {
			_, err := io.WriteString(client, part)
			must(t, err)
			if i == 0 {
				<-shared
			}
			if c.moved && i == 0 {
				<-others
			} else if i+1 < len(c.sent) && !c.moved {
				b := make([]byte, len(answered))
				_, err = io.ReadFull(in, b)
				must(t, err)
			}
		}
		got, err := io.ReadAll(in)
		if want := c.want[len(c.want)-len(got):]; err != nil || string(got) != want || c.moved && len(got) != len(c.want) {
			t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(c.want))
		}
		if !c.moved && len(others) > 0 {
			t.Errorf("%s: another goroutine served it", name)
		}
	}
}

// A connection whose requests follow quickly is served by a goroutine of its own after a while.
func TestShared_NotForLong(t *testing.T) {
	p, _, others := sharingBy(t, stub{plain: func(c *Connection, _ *Plain) error {
		_, err := io.WriteString(c, answered)
		return err
	}})
	client, in, conn := p.client(t)
	conn.becomes(t, isParked)
	for len(others) > 0 {
		<-others
	}
	if !conn.Stays {
		t.Error("its second request needs another registration")
	}
	for i := range 3 * fewRequests {
		asks(t, client, in, whole, 1)
		if i == fewRequests-2 && len(others) > 0 {
			t.Error("another goroutine served it early")
		}
	}
	if len(others) != 1 {
		t.Errorf("it was given to another goroutine %d times", len(others))
	}
	for conn.idle.Load() != isParked {
		p.parkIdle()
	}
	asks(t, client, in, whole, 1)
	if conn.Stays {
		t.Error("the set still reports each input")
	}
}

// A connection whose requests are left to others keeps its goroutine as soon as they follow quickly.
func TestShared_OnceIfRequestsAreSlow(t *testing.T) {
	p, shared, _ := sharingBy(t, slowly{stub{plain: func(c *Connection, _ *Plain) error {
		_, err := io.WriteString(c, answered)
		return err
	}}})
	client, in, conn := p.client(t)
	conn.becomes(t, isParked)
	for range 4 {
		asks(t, client, in, strings.Replace(whole, "/ ", "/slow ", 1), 1)
	}
	if n := len(shared); n != 2 {
		t.Errorf("the goroutine of the set got it %d times, want 2: for the first request, and the first that followed", n)
	}
}

// The memory of a closed connection is used again, unless another goroutine may still know the connection.
func TestReuse_OnlyIfNobodyKnowsIt(t *testing.T) {
	for name, c := range map[string]struct {
		state func(*Connection)
		want  bool
	}{
		"shared":     {func(*Connection) {}, true},
		"own":        {func(c *Connection) { c.known = true }, false},
		"at the end": {func(c *Connection) { _ = c.from.Close() }, false},
	} {
		_, inner := net.Pipe()
		l := New(&queue{closed: make(chan struct{})}, nil)
		conn := l.Adopt(inner)
		c.state(conn)
		must(t, conn.CloseNow())
		if conn.reuse(); (conn.from == nil) != c.want {
			t.Errorf("%s: used again: %v, want %v", name, !c.want, c.want)
		}
	}
}
