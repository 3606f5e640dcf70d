//go:build unix

package client

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// idleTime is how long an idle connection is kept.
const idleTime = 30 * time.Second

// probe checks whether an idle connection is still open.
type probe struct {
	raw  syscall.RawConn // nil if the connection does not provide one
	look func(fd uintptr) bool
	open bool // the result of look
}

func newProbe(conn net.Conn) *probe {
	p := &probe{}
	p.look = p.peek
	if sc, ok := conn.(syscall.Conn); ok {
		p.raw, _ = sc.SyscallConn() // on an error raw is nil, and a closed connection fails when it is used
	}
	return p
}

// alive reports whether an idle connection is still open, without blocking and without consuming
// data. If the server has sent unsolicited data, such as a timeout response or a TLS close alert,
// the connection is unusable. A connection that cannot be checked counts as open.
func (p *probe) alive() bool {
	if p.raw == nil {
		return true
	}
	p.open = false
	return p.raw.Read(p.look) == nil && p.open
}

func (p *probe) peek(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	p.open = errors.Is(err, syscall.EAGAIN)
	return true
}
