//go:build unix

package dispatcher

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// idleTime is how long a connection is kept for the next delivery.
const idleTime = 30 * time.Second

// pulse is how a connection is asked whether it is still open.
type pulse struct {
	raw  syscall.RawConn // nil when it cannot be asked
	look func(fd uintptr) bool
	open bool // what look saw
}

func newPulse(conn net.Conn) *pulse {
	p := &pulse{}
	p.look = p.peek
	if sc, ok := conn.(syscall.Conn); ok {
		p.raw, _ = sc.SyscallConn() // a closed one is found out when it is used
	}
	return p
}

// beats tells whether an idle connection is still open, without waiting or taking
// anything from it. What a server says unasked is a time-out, or the end of TLS.
func (p *pulse) beats() bool {
	if p.raw == nil {
		return true
	}
	p.open = false
	return p.raw.Read(p.look) == nil && p.open
}

func (p *pulse) peek(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	p.open = errors.Is(err, syscall.EAGAIN)
	return true
}
