package wire

import (
	"bytes"
	"context"
	"log/slog"
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
