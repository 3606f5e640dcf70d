package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// TLS and clear text come on the same port: the first byte of a connection says which it is. The
// layers are, from below: the socket with its time-outs, TLS, and the reading and writing of HTTP.
// docs/adr/0019 says why.

// hello is the first byte of a TLS handshake. No request begins with it.
const hello = 0x16

var clearText = bad("this port speaks TLS: the URL begins with https://")

// opens looks at the first bytes of a connection, and reports whether they are no request. If they
// begin a TLS handshake, the connection ends for fasthttp, so that its buffers are not held
// meanwhile. If they are clear text and must not be, they are refused; ready is as of take then.
func (c *Connection) opens(b []byte) (ready int, done bool) {
	switch {
	case b[0] == hello:
		c.hello, c.parked, c.over = bytes.Clone(b), true, errParked
		return 0, true
	case c.from.OnlyTLS:
		c.spoke.Store(true)
		c.over = clearText
		return expose(b, 0), true
	}
	return 0, false
}

// secure has the handshake done, and reports whether the connection is to be served: it is closed
// otherwise.
func (c *Connection) secure() bool {
	socket := &socket{Conn: c.Conn, c: c, first: c.hello}
	c.hello, c.parked, c.grows, c.over, c.told = nil, false, false, nil, false
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
		c.Discard() // the alert that says why would be lost with what is not read
		_ = c.CloseNow()
		return false
	}
	c.secured = &stream{conn, socket}
	c.readInForce, c.writeExpires = time.Time{}, 0
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

// farewell tells a client of TLS that nothing more is sent, unless a fault omits that.
func (c *Connection) farewell() {
	if c.secured != nil && !c.abrupt && !c.parting {
		c.parting = true
		_ = c.secured.CloseWrite() // the client is told by the end of the connection too
	}
}

// socket is what TLS reads from and writes to. A write deadline that expires makes a TLS connection
// unusable, so deadlines are renewed by progress below it.
type socket struct {
	net.Conn
	c     *Connection
	first []byte // of the handshake, read before it began
	// begun is when the Write began whose first bytes are still to come, since the base of the clock;
	// 0 for none. crypto/tls also writes while it reads, to answer a client that changes its keys.
	begun     atomic.Int64
	computing thread // when the handshake began to compute, or went on
}

// Read reads what was read before, and then from the connection.
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

// Write writes as long as the client keeps reading. The handshake has a deadline as a whole, and the
// notice at the end one of crypto/tls. crypto/tls calls it once at a time, with a lock of its own.
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

// Write writes b, for which its time begins.
func (s *stream) Write(b []byte) (int, error) {
	s.socket.begun.Store(max(int64(s.socket.c.from.clock.elapsed()), 1))
	return s.Conn.Write(b)
}

// Read reads once. A client that closes its connection without a notice has ended all the same: HTTP
// knows whether a request is whole. After any other failure than a deadline nothing can be sent.
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

// brokenError is a failure of TLS. For whoever reads, the connection is closed.
type brokenError struct{ error }

// Is reports whether the error is to be handled like target.
func (e *brokenError) Is(target error) bool { return target == net.ErrClosed }

// Unwrap returns the error of crypto/tls.
func (e *brokenError) Unwrap() error { return e.error }

// thread is the time of the thread that a goroutine runs on.
type thread struct {
	cpu  time.Duration // that it has used, where the system says so
	wall time.Time
}

// start begins to measure what a handshake computes until the next read or write.
func (s *socket) start() { s.computing = thread{threadTime(), time.Now()} }

// stop adds what has been computed since start. A goroutine rarely changes its thread in between; if
// it does, no more than the time that went by is added.
func (s *socket) stop() {
	wall := time.Since(s.computing.wall)
	cpu := wall
	if at := threadTime(); at > 0 {
		cpu = min(max(at-s.computing.cpu, 0), wall)
	}
	s.c.from.handshaking.Add(int64(cpu))
}

// HandshakeTime returns how much CPU time handshakes have taken; where the system does not tell the
// time of a thread, how long they have computed.
func (c *Connections) HandshakeTime() time.Duration { return time.Duration(c.handshaking.Load()) }
