package wire

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// That the system dropped connections is logged once.
func TestListen_LogsDrops(t *testing.T) {
	l, err := Listen(context.Background(), "tcp", "127.0.0.1:0", false)
	must(t, err)
	defer l.Close()
	var log bytes.Buffer
	c := New(l, slog.New(slog.NewTextHandler(&log, nil)))
	a := l.(*acceptor)
	if c.logDrops(); log.Len() > 0 {
		t.Fatalf("before anything was dropped: %s", &log)
	}
	must(t, a.raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), 1) })) // the smallest queue
	must(t, err)
	for range 4 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(fd)
		_ = unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: a.addr.Port}) // in progress
	}
	for log.Len() == 0 { // the system may take its time
		c.logDrops()
	}
	c.logDrops()
	if n := strings.Count(log.String(), "net.core.somaxconn"); n != 1 {
		t.Errorf("it was logged %d times, want once: %s", n, &log)
	}
}

// Clients that wait to be accepted when the server stops are accepted, as long as there are descriptors, and
// later ones refused.
func TestListen_AcceptsThoseThatWait(t *testing.T) {
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	for want, accepts := range map[int]bool{0: false, 50: true, 20: true} {
		l, err := Listen(context.Background(), "tcp", "127.0.0.1:0", false)
		must(t, err)
		dial := func() {
			conn, err := net.Dial("tcp", l.Addr().String())
			must(t, err)
			t.Cleanup(func() { _ = conn.Close() })
		}
		if accepts { // otherwise nobody would
			dial()
			conn, err := l.Accept()
			must(t, err)
			defer conn.Close()
		}
		for range 50 {
			dial()
		}
		must(t, l.Close())
		for got := 0; ; got++ {
			if got == 20 && want == 20 {
				must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}))
			}
			conn, err := l.Accept()
			must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
			if err != nil {
				if got != want || !errors.Is(err, net.ErrClosed) {
					t.Errorf("%d were accepted, want %d: %v", got, want, err)
				}
				break
			}
			defer conn.Close()
		}
		if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
			_ = conn.Close()
			t.Error("a client was not refused at the end")
		}
	}
}
