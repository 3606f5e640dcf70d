//go:build !race

package wire

import (
	"net"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A wait that its deadline ends, as every latency does, costs no more than with a connection of package
// net: above all, the socket is not asked for its address.
func TestAccepted_WhatADeadlineCosts(t *testing.T) {
	_, server := accept(t, "0.0.0.0")
	must(t, server.SetReadDeadline(time.Unix(1, 0)))
	var b [1]byte
	if got := testing.AllocsPerRun(100, func() { _, _ = server.Read(b[:]) }); got > 1 {
		t.Errorf("got %v allocations, want at most 1", got)
	}
}

// A shared request allocates nothing.
func TestAllocations_OfSharedRequests(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	response := []byte(answered)
	l := served(New(nil, nil), stub{plain: func(c *Connection, _ *Plain) error {
		_, err := c.Write(response)
		return err
	}})
	defer l.lot.Close()
	l.Share = func(c *Connection) {
		c.requests = 1 // it stays shared
		_ = c.Serve()
	}
	l.Resume = func(*Connection) { t.Error("it was not shared") }
	conn := l.Adopt(&accepted{fd: ends[0], local: &net.TCPAddr{}, remote: net.TCPAddr{}})
	client := os.NewFile(uintptr(ends[1]), "client")
	defer client.Close()
	defer conn.CloseNow()
	request, b := []byte(whole), make([]byte, 100)
	ask := func() {
		_, _ = client.Write(request)
		if n, err := client.Read(b); n == 0 {
			t.Error(err)
		}
		for conn.idle.Load() != isParked {
			runtime.Gosched()
		}
	}
	if !conn.Park() {
		t.Fatal("it was not parked")
	}
	if got := allocations(100, ask); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// The allocator has a class of this size, and next one of 1,280. An idle connection takes little else.
func TestConnection_Size(t *testing.T) {
	if got := unsafe.Sizeof(Connection{}); got > 1152 {
		t.Errorf("a connection takes %d bytes, want at most 1152", got)
	}
}

// A connection with one request allocates nothing but its socket.
func TestAllocations_OfShortConnections(t *testing.T) {
	response := []byte(answered)
	l := served(New(nil, nil), stub{plain: func(c *Connection, _ *Plain) error {
		_, err := c.Write(response)
		return err
	}})
	l.Share = func(c *Connection) { _ = c.Serve() }
	l.Resume = func(*Connection) { t.Error("it was not shared") }
	request, b := []byte("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), make([]byte, 100)
	if got := testing.AllocsPerRun(100, func() {
		ends, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0) // fails below
		_, _ = unix.Write(ends[1], request)
		conn := l.Adopt(&accepted{fd: ends[0]})
		conn.shared = true
		l.Share(conn)
		if n, err := unix.Read(ends[1], b); string(b[:n]) != answered {
			t.Errorf("got %q, %v", b[:n], err)
		}
		_ = unix.Close(ends[1])
	}); got > 1 {
		t.Errorf("got %v allocations, want 1", got)
	}
}
