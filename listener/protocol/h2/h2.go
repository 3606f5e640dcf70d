// Package h2 serves HTTP/2 (RFC 9113) on given connections, with the frames and the header
// compression of golang.org/x/net. It does not know about endpoints. A Server holds the state that
// its connections share, and the Handler that answers their requests.
//
// One goroutine reads a connection. It answers requests itself if that cannot block, and starts a
// goroutine for each of the other requests. A request whose response is made, but not due, needs no
// goroutine until a pacer or the end of its stream continues it. Output is collected in a buffer of the connection. The
// buffer is written when nothing is left to be read, or by a goroutine that has something to send;
// only one goroutine writes at a time, and holds no lock while it writes. If there is no room for
// the rest of a body, the rest stays with its stream, and needs no goroutine.
package h2

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/internal/pacer"
)

// Handler answers requests.
type Handler interface {
	// Answer answers a request in the goroutine that reads the connection, if that cannot block, and
	// returns nil. Otherwise it returns what answers the request in a goroutine of its own.
	Answer(s *Stream) Later
	// Refuse answers a request that is invalid, too large or too slow; parts of the request may be
	// missing.
	Refuse(s *Stream, status int, why string)
}

// Later is a request that is answered later.
type Later interface {
	// Serve answers the request, and returns the zero time, or returns until when the request waits.
	// It is called in a goroutine of its own. After a wait it is called again; then it must not block,
	// unless Stream.Blocks is set.
	Serve() (until time.Time)
}

// Server holds the state that connections share. Its exported fields must not change once it serves
// one.
type Server struct {
	Handler Handler
	MaxBody int // maximum size of a request body in bytes
	// MaxAge is how long a connection is used, give or take a tenth; 0 means no limit.
	MaxAge time.Duration
	// MaxWaiting is how many bytes of responses may wait for the windows of all clients together,
	// in the buffers of their streams; 0 means 1 GiB. Even beyond that, each connection may have
	// one such response.
	MaxWaiting int
	// Pacer keeps what waits.
	Pacer *pacer.Pacer
	// Check checks the target and the host of a request. It returns the status of the response to
	// an invalid request, or 0.
	Check func(method, target, host []byte) (status int, what string)

	waiting atomic.Int64 // bytes of responses that wait, see MaxWaiting

	mu       sync.Mutex // guards the fields below
	conns    map[*conn]struct{}
	draining bool
	cutting  bool
	cut      int
}

// Serve serves a connection to its end. nc applies its own write timeouts; its Write is not called
// again after an error. read is what was already read from nc. shard is the shard of all its
// streams. Serve does not close nc. If nc has a method Discard, Serve calls it when the client may
// still be sending; if it has a method Reset, Serve calls that when a fault of kind ResetConnection
// must end the connection. If nc has a method Park, Serve calls it for a connection that is idle. If
// Park returns true, so that another goroutine calls again, once, when there is something to read or
// the time has passed, Serve and again return ErrParked.
func (s *Server) Serve(nc net.Conn, read []byte, shard uint32) error {
	c := newConn(s, nc, shard)
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	return c.live(read)
}

// ErrParked means that a connection waits without a goroutine.
var ErrParked = errors.New("the connection is parked")

// forget removes a connection that has ended. Once Cut was called, it also counts the requests that
// were lost with the connection.
func (s *Server) forget(c *conn, unanswered int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.cutting {
		s.cut += unanswered
	}
}

// Drain makes every connection end without losing a request: clients are told to open no more
// streams, and streams that are open, or in flight, are answered. The caller must end the reads in
// progress by setting a deadline on each connection.
func (s *Server) Drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
}

// Prompt makes the streams that wait without a goroutine continue at once.
func (s *Server) Prompt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		for _, stream := range c.streams {
			if pacer.Cancel(&stream.entry) {
				s.Pacer.Add(&stream.entry, stream, time.Now(), c.shard)
			}
		}
		c.mu.Unlock()
	}
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Cut notes that all connections are about to be closed: from then on, the requests whose responses
// are lost with a connection are counted.
func (s *Server) Cut() {
	s.mu.Lock()
	s.cutting = true
	s.mu.Unlock()
}

// CutOff returns how many requests have no complete response: those that were lost with the
// connections that have ended since Cut, and those of the connections that are still open.
func (s *Server) CutOff() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.cut
	for c := range s.conns {
		n += c.unanswered()
	}
	return n
}

func (s *Server) isCrowded() bool {
	most := s.MaxWaiting
	if most == 0 {
		most = allWaiting
	}
	return s.waiting.Load() >= int64(most)
}
