package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/pacer"
	"mockserver/internal/pollset"
)

// parking is a listener whose connections are served, and parked.
type parking struct {
	*Connections
	serving  sync.WaitGroup
	resuming atomic.Pointer[func()] // called before a goroutine serves a connection; nil for nothing
}

const answered = "HTTP/1.1 204 No Content\r\n\r\n"

// parks starts a listener.
func parks(t *testing.T) *parking {
	return parksBy(t, stub{plain: func(c *Connection, _ *Plain) error {
		_, err := io.WriteString(c, answered)
		return err
	}})
}

// parksBy is parks with a handler, and options.
func parksBy(t *testing.T, h Handler, options ...func(*Connections)) *parking {
	l, err := Listen(context.Background(), "tcp", "127.0.0.1:0", false)
	must(t, err)
	p := &parking{Connections: New(l, slog.New(slog.DiscardHandler))}
	p.Handler, p.MaxBody, p.Pacer = h, 1<<20, pacer.New()
	for _, set := range options {
		set(p.Connections)
	}
	p.Resume = func(c *Connection) {
		if do := p.resuming.Load(); do != nil {
			(*do)()
		}
		p.serving.Go(func() { _ = c.Serve() }) // the client sees how it ends
	}
	p.Share = func(c *Connection) { _ = c.Serve() }
	p.serving.Go(func() {
		for {
			c, err := p.Accept()
			if err != nil {
				return
			}
			p.Resume(c.(*Connection))
		}
	})
	t.Cleanup(func() {
		_ = p.End(0)
		p.CloseAll()
		p.Drain()
		p.serving.Wait()
		p.Stop()
	})
	return p
}

// client connects, and returns the connection with the server's end of it.
func (p *parking) client(t *testing.T) (net.Conn, *bufio.Reader, *Connection) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr().String())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for {
		for _, c := range p.all() {
			if c.RemoteAddr().String() == conn.LocalAddr().String() {
				return conn, bufio.NewReader(conn), c
			}
		}
	}
}

// becomes waits until the connection has a state.
func (c *Connection) becomes(t testing.TB, state uint32) {
	t.Helper()
	harness.Until(t, "the connection has another state", func() bool { return c.idle.Load() == state })
}

// parks waits until the connection has been idle for long enough to be parked.
func (p *parking) parks(t testing.TB, c *Connection) {
	t.Helper()
	harness.Until(t, "the connection is parked", func() bool {
		p.parkIdle()
		return c.idle.Load() == isParked
	})
}

// asks sends requests and reads the responses.
func asks(t *testing.T, conn io.Writer, in io.Reader, sent string, n int) {
	t.Helper()
	_, err := io.WriteString(conn, sent)
	must(t, err)
	b := make([]byte, n*len(answered))
	if _, err := io.ReadFull(in, b); err != nil || string(b) != strings.Repeat(answered, n) {
		t.Fatalf("got %q, %v", b, err)
	}
}

// A connection waits without a goroutine before its first request, after it, and again once it has
// been idle for some time; its requests are served whenever they come, and its last one once.
func TestParked_IsServed(t *testing.T) {
	t.Parallel() // a connection is idle for a second, twice
	p := parks(t)
	conn, in, c := p.client(t)
	c.becomes(t, isParked)
	asks(t, conn, in, whole[:10], 0) // parked until then, and in the goroutine with a part of a head
	c.becomes(t, isBusy)
	asks(t, conn, in, whole[10:], 1)
	c.becomes(t, isParked)
	for range 3 {
		asks(t, conn, in, whole, 1)
	}
	asks(t, conn, in, whole+whole+whole, 3)
	for range 2 {
		harness.Until(t, "its goroutine waits", func() bool { return c.idle.Load() != isBusy })
		p.parks(t, c)
		asks(t, conn, in, whole, 1)
	}
	asks(t, conn, in, whole, 1)
	asks(t, conn, in, strings.Replace(whole, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1), 1)
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("after the last response: %q, %v", rest, err)
	}
}

// While memory is short, a connection is parked the first time that it is found idle.
func TestParked_AtOnceWhileMemoryIsShort(t *testing.T) {
	p := parks(t)
	conn, in, c := p.client(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1))
	runtime.GC()
	for c.idle.Load() != isIdle { // once its requests come in quick succession
		asks(t, conn, in, whole, 1)
	}
	p.parkIdle()
	if state := c.idle.Load(); state == isIdle || state == isLeaving {
		t.Errorf("it is not parked: state %d", state)
	}
	c.becomes(t, isParked)
	asks(t, conn, in, whole, 1)
}

// A parked connection ends when its client leaves, when it is parked for too long, and when the server
// stops; and it does not keep the server from ending.
func TestParked_Ends(t *testing.T) {
	for name, end := range map[string]func(p *parking, conn net.Conn){
		"the client leaves": func(_ *parking, conn net.Conn) { _ = conn.(*net.TCPConn).CloseWrite() },
		"it is late": func(p *parking, _ net.Conn) {
			p.lot.Limit(&p.all()[0].place.Entry, 0)
			p.lot.Expire()
		},
		"the server stops":   func(p *parking, _ net.Conn) { _ = p.End(0); p.ExpireIdle() },
		"the server is left": func(p *parking, _ net.Conn) { p.CloseAll() },
	} {
		for _, requests := range []int{0, 1} {
			p := parks(t)
			conn, err := net.Dial("tcp", p.Addr().String())
			must(t, err)
			defer conn.Close()
			in := bufio.NewReader(conn)
			if requests > 0 {
				asks(t, conn, in, whole, 1)
			}
			harness.Until(t, "it is parked", func() bool { all := p.all(); return len(all) > 0 && all[0].idle.Load() == isParked })
			end(p, conn)
			if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
				t.Errorf("%s, after %d requests: %q, %v", name, requests, rest, err)
			}
			for p.Count() > 0 {
			}
		}
	}
}

// A request that comes while the server stops is served.
func TestParked_LastCall(t *testing.T) {
	p := parks(t)
	conn, in, c := p.client(t)
	asks(t, conn, in, whole, 1)
	c.becomes(t, isParked)
	must(t, p.End(time.Hour))
	p.ExpireIdle()
	asks(t, conn, in, whole, 1)
	if c.place.socket.park(p.Connections, &c.place.Entry, 0) {
		t.Error("it was parked again")
	}
}

// A client that sends an empty line after its request, as some do after a body, may be as idle as others.
func TestParked_NotAfterAnEmptyLine(t *testing.T) {
	answer := func(c *Connection, _ *Plain) error {
		_, err := io.WriteString(c, answered)
		return err
	}
	p := parksBy(t, stub{plain: answer, serve: func(x *Exchange) { must(t, answer(x.Conn, nil)) }})
	conn, in, c := p.client(t)
	asks(t, conn, in, whole, 1)
	asks(t, conn, in, "\r\n", 0)
	for !c.place.socket.isWaiting() {
	}
	for range 2 {
		p.parkIdle()
	}
	asks(t, conn, in, whole, 1)
}

// A socket is not parked once it was closed, nor if its duplicate would get a reserved descriptor.
func TestParked_Not(t *testing.T) {
	_, server := accept(t, "127.0.0.1")
	l := New(nil, nil)
	defer l.lot.Close()
	_, _, err := server.waiting()
	must(t, err)
	l.descriptors.border = 1
	if server.park(l, &pollset.Entry{}, 0) {
		t.Error("it was parked with a reserved descriptor")
	}
	must(t, server.Close())
	if server.park(l, &pollset.Entry{}, 0) {
		t.Error("it was parked after it was closed")
	}
	if err := server.Close(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
