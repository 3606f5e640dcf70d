//go:build unix

package probe

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const canBind = true

// control binds a socket to a free port before it connects, and registers that port: the server may
// accept the connection before the client learns that it is connected.
func (p *Probe) control(port *int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { *port, failed = bind(int(fd), p.to) })
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ports[*port] = struct{}{}
		return failed
	}
}

func bind(fd int, to *net.TCPAddr) (port int, err error) {
	var at unix.Sockaddr
	if v4 := to.IP.To4(); v4 != nil {
		at = &unix.SockaddrInet4{Addr: [4]byte(v4)}
	} else {
		at = &unix.SockaddrInet6{Addr: [16]byte(to.IP)}
	}
	if err := unix.Bind(fd, at); err != nil {
		return 0, err
	}
	bound, err := unix.Getsockname(fd)
	switch bound := bound.(type) {
	case *unix.SockaddrInet4:
		port = bound.Port
	case *unix.SockaddrInet6:
		port = bound.Port
	}
	return port, err
}
