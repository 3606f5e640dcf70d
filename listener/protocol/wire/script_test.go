package wire

import (
	"bytes"
	"io"
	"net"
	"time"
)

// script is the connection of a client that has sent everything, in pieces of a given size, and
// closed its sending side. It keeps what the server sends.
type script struct {
	still
	Sent  []byte
	Piece int
	Got   bytes.Buffer
	Ended bool // the server closed its sending side
}

func (s *script) Read(b []byte) (int, error) {
	if len(s.Sent) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.Sent[:min(s.Piece, len(s.Sent))])
	s.Sent = s.Sent[n:]
	return n, nil
}

func (s *script) Write(b []byte) (int, error) { return s.Got.Write(b) }

// CloseWrite sets Ended.
func (s *script) CloseWrite() error { s.Ended = true; return nil }

// still is a connection that has no deadlines and cannot fail. It neither reads nor writes.
type still struct{ net.Conn }

var stillAddr = &net.TCPAddr{} // one for all, so that asking for it allocates nothing

// Close does nothing.
func (still) Close() error { return nil }

// LocalAddr returns an address without a port.
func (still) LocalAddr() net.Addr { return stillAddr }

// RemoteAddr returns an address without a port.
func (still) RemoteAddr() net.Addr { return stillAddr }

// SetDeadline does nothing.
func (still) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (still) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (still) SetWriteDeadline(time.Time) error { return nil }

// pointed is a connection that calls a function at the N-th event: a read, a write, or another call
// of pass.
type pointed struct {
	net.Conn
	N        int
	Before   bool // call it before the event instead of after it
	Happened func()
}

// pass counts an event.
func (p *pointed) pass(event func()) {
	p.N--
	now := p.N == 0
	if now && p.Before {
		p.Happened()
	}
	event()
	if now && !p.Before {
		p.Happened()
	}
}

func (p *pointed) Read(b []byte) (n int, err error) {
	p.pass(func() { n, err = p.Conn.Read(b) })
	return n, err
}

func (p *pointed) Write(b []byte) (n int, err error) {
	p.pass(func() { n, err = p.Conn.Write(b) })
	return n, err
}
