package wire

import (
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// If a client closes its sending side together with its last request, the poller reports both at
// once: a sweep finds the end, long before the connection would be parked.
func TestSweep_FindsTheEndThatCameWithTheLastRequest(t *testing.T) {
	for _, requests := range []int{1, 3} {
		list, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := New(list, slog.New(slog.DiscardHandler))
		var answered atomic.Int32
		served(l, stub{plain: func(c *Connection, _ *Plain) error {
			answered.Add(1)
			_, err := c.Write([]byte("x"))
			return err
		}})
		client, err := net.Dial("tcp", list.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = client.SetDeadline(time.Now().Add(10 * parkTime)) // then reading fails
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		serve := func() { ended <- conn.(*Connection).Serve() }
		answer := make([]byte, 1)
		if requests > 1 {
			go serve()
		}
		for range requests - 1 {
			_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") // if it fails, there is no answer
			if _, err := io.ReadFull(client, answer); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") // if it fails, there is no answer
		_ = client.(*net.TCPConn).CloseWrite()
		begun := time.Now()
		if requests == 1 { // both have arrived when it is read
			go serve()
		}
		if _, err := io.ReadFull(client, answer); err != nil {
			t.Fatal(err)
		}
		if n, err := client.Read(answer); n > 0 || err != io.EOF {
			t.Errorf("after the answers got %d bytes, %v; want the end", n, err)
		}
		if took := time.Since(begun); took >= parkTime {
			t.Errorf("the end was found after %v, when the connection was parked", took)
		}
		<-ended
		if n := int(answered.Load()); n != requests {
			t.Errorf("%d of %d requests were answered", n, requests)
		}
		_ = client.Close()
		_ = l.Close()
	}
}

// A request triggers one sweep, and another one if the first may already have passed its
// connection; there are no sweeps while nothing happens.
func TestSweep_RestsWithoutRequests(t *testing.T) {
	l := New(nil, slog.New(slog.DiscardHandler))
	for state, want := range map[uint32]uint32{soon: soon, sweeping: sweepMore, sweepMore: sweepMore} {
		l.sweeper.state.Store(state)
		l.sweepSoon()
		if got := l.sweeper.state.Load(); got != want {
			t.Errorf("from %d to %d, want %d", state, got, want)
		}
	}
	l.sweeper.state.Store(noSweep)
	l.sweepSoon() // for no connection
	if got := l.sweeper.state.Load(); got == sweepMore {
		t.Error("there are two sweeps")
	}
	for deadline := time.Now().Add(10 * time.Second); l.sweeper.state.Load() != noSweep; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the sweeper is still active after a sweep without connections")
		}
	}
}

// A response that could not be written completely is the last of its connection: otherwise the next
// one would follow in the middle of it.
func TestServe_NothingFollowsAResponseThatIsNotWhole(t *testing.T) {
	list, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(list, slog.New(slog.DiscardHandler))
	requests := 0
	served(l, stub{plain: func(c *Connection, _ *Plain) error {
		if requests++; requests == 1 {
			_, err := c.Write([]byte("whole"))
			return err
		}
		_, _ = c.Write([]byte("part")) // the client checks it
		return os.ErrDeadlineExceeded
	}})
	ended := make(chan *Connection, 1)
	go func() {
		accepted, err := l.Accept()
		if err != nil {
			return
		}
		conn := accepted.(*Connection)
		_ = conn.Serve() // the client sees the result
		ended <- conn
	}()
	client, err := net.Dial("tcp", list.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = client.SetDeadline(time.Now().Add(10 * parkTime)) // then reading fails
	answer := make([]byte, 5)
	_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") // if it fails, there is no answer
	if _, err := io.ReadFull(client, answer); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") // if it fails, there is no answer
	if rest, err := io.ReadAll(client); string(rest) != "part" || err != nil {
		t.Errorf("got %q, %v; want a part and the end", rest, err)
	}
	_ = client.Close()
	if conn := <-ended; conn.answered.Load() {
		t.Error("the request counts as answered")
	}
	_ = l.Close()
}

// A read stops at urgent data, although more has arrived: a sweep finds the rest.
func TestSweep_FindsARequestBehindUrgentData(t *testing.T) {
	list, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(list, slog.New(slog.DiscardHandler))
	served(l, stub{plain: func(c *Connection, _ *Plain) error {
		_, err := c.Write([]byte("x"))
		return err
	}})
	client, err := net.Dial("tcp", list.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_ = client.SetDeadline(begun.Add(10 * parkTime)) // then reading fails
	raw, err := client.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	send := func(text string, flags int) {
		if err := raw.Control(func(fd uintptr) {
			if err := unix.Sendto(int(fd), []byte(text), flags, nil); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0)
	send("!", unix.MSG_OOB)
	send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0)
	conn, err := l.Accept() // now that everything has arrived
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = conn.(*Connection).Serve() }() // the client sees the result
	if _, err := io.ReadFull(client, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took >= parkTime {
		t.Errorf("the second request was found after %v, when the connection was parked", took)
	}
	_ = client.Close()
	_ = l.Close()
}
