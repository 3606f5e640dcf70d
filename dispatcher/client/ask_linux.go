package client

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mockserver/internal/sockio"
)

// asking is the state of a call to Ask. The calls on a connection use it in turn.
type asking struct {
	c    *Conn
	raw  syscall.RawConn
	turn func(fd uintptr) bool // asking.once, allocated once

	request, into []byte
	deadline      time.Time
	sent          bool
	n             int
	err           error
}

// Asks reports whether Ask can be used.
func (c *Conn) Asks() bool { return c.Conn == c.plain && c.probe.raw != nil }

// Ask sends a request and reads the first bytes of its answer, within one call to RawConn.Read. If
// the connection was idle, Ask first checks that it is still open, and reads only after data has
// arrived. The read deadline applies to the call; deadline applies to writing. If the read deadline
// passes when sent is true, the answer can still be read later.
func (c *Conn) Ask(request, into []byte, deadline time.Time) (n int, sent bool, err error) {
	a := c.asking
	if a == nil {
		a = &asking{c: c, raw: c.probe.raw}
		a.turn = a.once
		c.asking = a
	}
	a.request, a.into, a.deadline, a.sent, a.n, a.err = request, into, deadline, false, 0, nil
	err = a.raw.Read(a.turn) // data that arrives after the wait has begun is not lost
	a.request, a.into = nil, nil
	if err == nil {
		err = a.err
	}
	if err != nil && a.sent {
		c.failed = c.failed || err == io.EOF || a.err != nil
	}
	return a.n, a.sent, err
}

// once sends or reads, and reports whether the call is complete.
func (a *asking) once(fd uintptr) bool {
	if !a.sent {
		return a.send(int(fd))
	}
	for {
		n, errno := sockio.Recv(int(fd), a.into, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return false
		case errno != 0:
			a.err = a.failure("read", errno)
		case n == 0:
			a.err = io.EOF
		default:
			a.n = n
		}
		return true
	}
}

func (a *asking) send(fd int) (over bool) {
	var one [1]byte
	if a.c.Kept() {
		if _, errno := sockio.Recv(fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT); errno != unix.EAGAIN {
			a.err = ErrStale
			return true
		}
	}
	a.sent = true
	n, errno := sockio.Send(fd, a.request)
	switch {
	case errno == 0 && n == len(a.request) && a.c.Kept():
		return false
	case errno == 0 && n == len(a.request): // otherwise, earlier data on a new connection could go unnoticed
		return a.once(uintptr(fd))
	case errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR:
		a.err = &SendError{Err: a.failure("write", errno)}
		return true
	case errno != 0:
		n = 0
	}
	err := a.c.SetWriteDeadline(a.deadline)
	if err == nil {
		_, err = a.c.Write(a.request[n:])
	}
	if err != nil {
		a.err = &SendError{Err: err}
	}
	return err != nil
}

func (a *asking) failure(call string, errno syscall.Errno) error {
	return &net.OpError{Op: call, Net: "tcp", Source: a.c.LocalAddr(), Addr: a.c.RemoteAddr(), Err: os.NewSyscallError(call, errno)}
}
