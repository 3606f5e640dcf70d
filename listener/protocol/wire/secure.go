package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// TLS and clear text arrive on the same port: the first byte of a connection shows which it is. The
// layers are, from the bottom up: the socket with its timeouts, TLS, and the reading and writing
// of HTTP. docs/adr/0019 says why.

// hello is the first byte of a TLS handshake. No request begins with it.
const hello = 0x16

var clearText = bad("this port speaks TLS; expected a URL that begins with https://")

// secure performs the handshake whose beginning is buffered; meanwhile, the connection has no buffers.
// It reports false if the handshake failed and the connection is closed.
func (c *Connection) secure() bool {
	c.hold()
	socket := &socket{Conn: c.Conn, c: c, first: c.held}
	c.held = nil
	c.freeBuffers()
	err := c.Conn.SetDeadline(time.Now().Add(headerTimeout))
	if err == nil && c.from.isEnding() {
		err = c.Conn.SetDeadline(time.Now().Add(c.from.moment()))
	}
	var conn *tls.Conn
	if err == nil {
		socket.start()
		conn, err = c.from.Handshake(c, socket)
		socket.stop()
	}
	if err != nil {
		c.Discard() // otherwise the system would discard the alert that says why
		_ = c.CloseNow()
		return false
	}
	c.secured = &stream{conn, socket}
	c.readInForce, c.writeExpires = past, 0
	c.readExpires = time.Now().Add(headerTimeout)
	return true
}

// Stream returns what the client's bytes are read from: the socket, or the TLS connection over it.
func (c *Connection) Stream() net.Conn {
	if c.secured != nil {
		return c.secured
	}
	return c.Conn
}

// closeNotify tells a TLS client that nothing more is sent, unless a fault suppresses this notice.
func (c *Connection) closeNotify() {
	if c.secured != nil && !c.abrupt && !c.parting {
		c.parting = true
		_ = c.secured.CloseWrite() // if it fails, the end of the connection tells the client
	}
}

// socket is what TLS reads from and writes to. A write deadline that expires makes a TLS connection
// unusable, so the layer below it renews deadlines as bytes get through.
type socket struct {
	net.Conn
	c     *Connection
	first []byte // bytes of the handshake that were read before it began
	// begun is when a Write whose first bytes have not arrived here yet began, as time since the
	// base of the clock; 0 if there is no such Write. crypto/tls also writes while it reads, to
	// answer a client that changes its keys.
	begun atomic.Int64
	// When the handshake began or continued to compute: the CPU time of the thread that its goroutine ran on,
	// 0 if the system does not report it, and the wall clock.
	cpu  time.Duration
	wall time.Time
}

// Read returns what was read before the handshake, and then reads from the connection.
func (s *socket) Read(b []byte) (int, error) {
	switch {
	case len(s.first) > 0:
		n := copy(b, s.first)
		if s.first = s.first[n:]; len(s.first) == 0 {
			s.first = nil
		}
		return n, nil
	case s.c.secured != nil:
		return s.Conn.Read(b)
	}
	s.stop()
	defer s.start()
	return s.Conn.Read(b)
}

// Write writes as long as the client keeps reading. The handshake as a whole has a deadline, and
// crypto/tls sets one for the closing notice. crypto/tls makes one call at a time, under its own
// lock.
func (s *socket) Write(b []byte) (int, error) {
	switch {
	case s.c.secured == nil:
		s.stop()
		defer s.start()
		return s.Conn.Write(b)
	case s.c.parting:
		return s.Conn.Write(b)
	}
	if begun := s.begun.Swap(0); begun != 0 {
		s.c.writing = progress{begun: time.Duration(begun)}
	}
	return s.c.transmit(b, s.c.from.clock.elapsed())
}

// stream is a TLS connection whose reads fail like those of a socket.
type stream struct {
	*tls.Conn
	socket *socket
}

// Write writes b, and starts its timeout.
func (s *stream) Write(b []byte) (int, error) {
	s.socket.begun.Store(max(int64(s.socket.c.from.clock.elapsed()), 1))
	return s.Conn.Write(b)
}

// Read reads once. A client that closes its connection without a closing notice has finished
// sending all the same: HTTP shows whether a request is complete. After any failure other than a
// deadline, nothing can be sent.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	switch {
	case err == nil, err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded):
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, io.EOF
	}
	return n, &brokenError{err}
}

// brokenError is a failure of TLS. To the reader, it means that the connection is closed.
type brokenError struct{ error }

// Is reports whether the error is to be handled like target.
func (e *brokenError) Is(target error) bool { return target == net.ErrClosed }

// Unwrap returns the error of crypto/tls.
func (e *brokenError) Unwrap() error { return e.error }

// start begins to measure the CPU time that a handshake uses up to its next read or write.
func (s *socket) start() { s.cpu, s.wall = threadTime(), time.Now() }

// stop adds the CPU time used since start. A goroutine rarely changes its thread in between; if it
// does, at most the elapsed time is added.
func (s *socket) stop() {
	wall := time.Since(s.wall)
	cpu := wall
	if at := threadTime(); at > 0 {
		cpu = min(max(at-s.cpu, 0), wall)
	}
	s.c.from.handshaking.Add(int64(cpu))
}

// HandshakeTime returns how much CPU time handshakes have used or, if the system does not report
// the CPU time of a thread, for how long they have computed.
func (c *Connections) HandshakeTime() time.Duration { return time.Duration(c.handshaking.Load()) }
