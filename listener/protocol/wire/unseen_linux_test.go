package wire

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// If a client closes its sending side together with its last request, the poller may report both at
// once: the end is found when the connection is parked.
func TestParked_FindsTheEndThatCameWithTheLastRequest(t *testing.T) {
	for _, requests := range []int{1, 3} {
		p := parks(t)
		client, in, _ := p.client(t)
		_ = client.SetDeadline(time.Now().Add(50 * leaveTime)) // then reading fails
		for range requests - 1 {
			asks(t, client, in, whole, 1)
		}
		_, err := io.WriteString(client, whole)
		must(t, err)
		_ = client.(*net.TCPConn).CloseWrite()
		begun := time.Now()
		if rest, err := io.ReadAll(in); string(rest) != answered || err != nil {
			t.Errorf("got %q, %v; want a response and the end", rest, err)
		}
		if took := time.Since(begun); took >= 5*leaveTime {
			t.Errorf("the end was found after %v", took)
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
	_ = client.SetDeadline(time.Now().Add(50 * leaveTime)) // then reading fails
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
	list, err := Listen(context.Background(), "tcp", "127.0.0.1:0", false)
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
	_ = client.SetDeadline(begun.Add(50 * leaveTime)) // then reading fails
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
	l.Resume = func(c *Connection) { go func() { _ = c.Serve() }() } // the client sees the result
	l.Resume(conn.(*Connection))
	if _, err := io.ReadFull(client, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took >= 5*leaveTime {
		t.Errorf("the second request was found after %v, when the connection was parked", took)
	}
	_ = client.Close()
	_ = l.Close()
	l.Drain()
	l.Stop()
}
