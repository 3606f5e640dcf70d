package wire

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"mockserver/internal/sockio"
)

// stay keeps a connection inside one call of RawConn.Read as long as it has plain requests. So it
// is read and written by system calls alone, without the overhead of package net, and it waits
// without trying to read the socket first.
//
// No later event is lost: the poller notes it while nothing waits, and the next wait ends at once.
// What arrived with the last request is read with it, except for the end of what the client sends:
// see parkIdle.
type stay struct {
	c    *Connection
	raw  syscall.RawConn       // nil where this is not possible
	turn func(fd uintptr) bool // stay.once, made once

	fd    int // the descriptor while the connection stays; otherwise -1
	b     []byte
	plain bool // what is read may be a plain request
	parks bool // the connection is parked if there is nothing to read
	n     int
	err   error
	_     [32]byte // keeps the fields of two connections, written on each request, in separate cache lines
}

// open prepares a connection to stay, if that is possible.
func (s *stay) open(c *Connection) {
	if s.c, s.raw, s.fd = c, nil, -1; s.turn == nil {
		s.turn = s.once
	}
	if socket, ok := c.Conn.(syscall.Conn); ok {
		s.raw, _ = socket.SyscallConn() // nil if it fails
	}
}

// read reads once, like Conn.Read, but answers plain requests until something else arrives. part means
// that a part of a head is already in the buffer before b.
func (c *Connection) read(b []byte, part bool) (int, error) {
	s := &c.stay
	if s.raw == nil || c.secured != nil {
		return c.Stream().Read(b)
	}
	s.parks = !part && c.mayPark()
	if s.parks && c.requests > 0 && !c.woken {
		return 0, errIdle // the client sends nothing before it has the response
	}
	c.woken = false
	s.b, s.n, s.err = b, 0, nil
	s.plain = !c.shared && c.requests > 0 && !part && !c.inBody && !c.grows
	err := s.raw.Read(s.turn)
	s.b, s.fd = nil, -1
	if err != nil {
		return 0, err
	}
	return s.n, s.err
}

// once reads, and reports whether the connection should leave the call.
func (s *stay) once(fd uintptr) bool {
	c := s.c
	for {
		n, errno := sockio.Recv(int(fd), s.b, 0)
		switch {
		case errno == unix.EAGAIN && (s.parks || c.shared):
			if s.err = errIdle; !s.parks {
				s.err = errShared
			}
			return true
		case errno == unix.EAGAIN:
			return false
		case errno == unix.EINTR:
			continue
		case errno != 0:
			s.err = &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", errno)}
			return true
		case n == 0:
			s.err = io.EOF
			return true
		}
		s.fd = int(fd)
		c.Again = c.Again || n == len(s.b)
		if s.n = n; !s.plain || c.grows || !s.answers(s.b[:n]) {
			return true
		}
		if s.n = 0; c.ended {
			s.err = io.EOF
			return true
		}
		if s.err = c.await(nil); s.err != nil {
			return true
		}
		if n < len(s.b) {
			return false
		}
	}
}

// answers reports whether b was a plain request that was answered.
func (s *stay) answers(b []byte) bool {
	c := s.c
	c.leaveIdle()
	c.noteRead()
	if whole, err := c.look(b); !whole || err != nil || !c.isPlain || c.size != len(b) {
		return false // the loop finds the same
	}
	c.plain.Alone = true
	if c.answerPlain() != nil || c.later != nil {
		return false
	}
	if c.after != nil {
		c.release()
	}
	return true
}

// sentAtOnce is the maximum size, in bytes, of a response that is written without telling the
// runtime of the system call: copying more would keep a processor from the runtime for too long.
const sentAtOnce = 64 << 10

// WriteNow writes what the socket takes without waiting, and returns how many bytes that is. It writes
// nothing over TLS, nor after an error.
func (c *Connection) WriteNow(b []byte) int {
	s, ok := c.Conn.(*accepted)
	if !ok || c.secured != nil || !s.begin(false) {
		return 0
	}
	defer s.end()
	n, errno := sockio.Send(s.fd, b[:min(len(b), sentAtOnce)])
	if errno != 0 {
		return 0
	}
	return n
}

// write writes once, like Conn.Write.
func (c *Connection) write(b []byte) (int, error) {
	if c.shared { // what the socket does not take is left to another goroutine
		rest := b
		if c.delay.rest == nil {
			rest = b[c.WriteNow(b):]
		}
		c.delay.rest = append(c.delay.rest, rest...)
		return len(b), nil
	}
	if s := &c.stay; s.fd >= 0 && len(b) <= sentAtOnce {
		n, errno := sockio.Send(s.fd, b)
		if errno == 0 && n == len(b) {
			return n, nil
		}
		if errno != 0 {
			n = 0
		}
		more, err := c.Conn.Write(b[n:])
		return n + more, err
	}
	return c.Conn.Write(b)
}

// asksInside reports whether the client of a connection that stays has left, or the connection is
// being closed. Reading or closing the connection here would wait for the read in progress. inside
// is false if the connection does not stay; left then has no meaning.
func (c *Connection) asksInside() (left, inside bool) {
	s := &c.stay
	if s.fd < 0 {
		return false, false
	}
	var one [1]byte
	n, errno := sockio.Recv(s.fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	c.pausing.mu.Lock()
	closed := c.pausing.closed
	c.pausing.mu.Unlock()
	c.left = closed || n == 0 || n < 0 && errno != unix.EAGAIN && errno != unix.EINTR
	return c.left, true
}
