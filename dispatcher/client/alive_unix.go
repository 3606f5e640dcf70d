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

// probe finds out whether an idle connection is still open.
type probe struct {
	raw  syscall.RawConn // nil when the connection has none
	look func(fd uintptr) bool
	open bool // the result of look
}

func newProbe(conn net.Conn) *probe {
	p := &probe{}
	p.look = p.peek
	if sc, ok := conn.(syscall.Conn); ok {
		p.raw, _ = sc.SyscallConn() // without one, a closed connection fails when it is used
	}
	return p
}

// alive reports whether an idle connection is still open, without waiting and without
// taking anything from it. Whatever a server sends unasked, such as a time-out or the end
// of TLS, makes the connection useless.
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
