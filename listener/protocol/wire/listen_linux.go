package wire

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mockserver/internal/sockio"
)

// keepAlive is how long a silent client is left alone before the system asks whether it is there, and
// between two such questions; keepAlives is how many may stay without an answer.
const (
	keepAlive  = 15 * time.Second
	keepAlives = 9
)

// Listen listens at an address. If share is true, other processes may listen there too.
func Listen(ctx context.Context, network, address string, share bool) (net.Listener, error) {
	listening := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = setOptions(int(fd), share) })
		if err == nil {
			err = failed
		}
		return err
	}}
	listening.SetMultipathTCP(false) // such a socket does not count what the system drops: see logDrops
	l, err := listening.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return l, nil
	}
	defer tcp.Close() // the copy of its descriptor stays open
	a := &acceptor{addr: tcp.Addr().(*net.TCPAddr)}
	if a.file, err = tcp.File(); err != nil {
		return nil, err
	}
	a.raw, err = a.file.SyscallConn()
	a.try = a.once
	return a, err
}

// setOptions sets the options of a listening socket. Accepted connections inherit them. A system that
// does not have some of them, as a sandbox may not, can serve all the same; but it must be able to share.
func setOptions(fd int, share bool) error {
	for _, o := range []struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(keepAlive / time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(keepAlive / time.Second)},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAlives},
	} {
		_ = unix.SetsockoptInt(fd, o.level, o.name, o.value)
	}
	if !share {
		return nil
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

// acceptor accepts connections as sockets. One goroutine at a time may accept.
type acceptor struct {
	addr *net.TCPAddr
	file *os.File
	raw  syscall.RawConn
	try  func(fd uintptr) bool // acceptor.once, made once

	begun     atomic.Bool // Accept was called, and is called until it fails
	saidDrops bool        // that connections were dropped was logged

	fd   int // the results of once
	from netip.AddrPort
	err  syscall.Errno
}

// Accept waits for the next connection. After Close it returns those that wait to be accepted, which the
// system would reset, and then closes the socket.
func (a *acceptor) Accept() (net.Conn, error) {
	a.begun.Store(true)
	err := waitError(a.raw.Read(a.try))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = a.raw.Control(func(fd uintptr) { a.once(fd) }) // nothing else closes it
		if err = nil; a.err != 0 {                         // none waits, or it cannot be accepted
			_ = a.file.Close() // it was only read
			err = net.ErrClosed
		}
	}
	if err == nil && a.err != 0 {
		err = os.NewSyscallError("accept4", a.err)
	}
	if err != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: a.addr, Err: err}
	}
	s, ip := &accepted{fd: a.fd}, a.from.Addr()
	s.remote = net.TCPAddr{Port: int(a.from.Port()), Zone: ip.Zone()}
	s.remote.IP, _ = ip.WithZone("").AppendBinary(s.ip[:0]) // it does not fail
	if !a.addr.IP.IsUnspecified() {
		s.local = a.addr
	}
	return s, nil
}

// once accepts, and reports whether there was a connection or an error.
func (a *acceptor) once(fd uintptr) bool {
	for {
		a.fd, a.err = sockio.Accept(int(fd), &a.from)
		switch a.err {
		case unix.EINTR, unix.ECONNABORTED: // that client has left already
		default:
			return a.err != unix.EAGAIN
		}
	}
}

// logDrops logs once that the system drops connections. It is called each second while there are any.
func (c *Connections) logDrops() {
	a, ok := c.Listener.(*acceptor)
	if !ok || a.saidDrops {
		return
	}
	n := 0
	_ = a.raw.Control(func(fd uintptr) { n = sockio.Dropped(int(fd)) }) // fails once it is closed
	if n > 0 {
		a.saidDrops = true
		c.log.Warn("connections were dropped, and delayed by a second or more, because too many waited to be accepted; "+
			"raise the setting net.core.somaxconn of the system and restart", "dropped", n)
	}
}

// Close makes Accept stop.
func (a *acceptor) Close() error {
	if a.begun.Load() {
		return netError(a.file.SetReadDeadline(past))
	}
	return netError(a.file.Close())
}

// Addr returns the address at which it listens.
func (a *acceptor) Addr() net.Addr { return a.addr }
