package listener

import (
	"fmt"

	"mockserver/listener/protocol/wire"
)

// idleServers is how many goroutines wait for a connection, at most. One that has served connections
// has a stack that need not grow again.
const idleServers = 64

// accept serves connections until the listener fails or is closed: see wire.Connections.Share, and begin.
// It replaces fasthttp's own loop, whose worker pool keeps a goroutine for ten seconds after it is
// stopped, and which checks every 100 ms whether its connections are gone.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if !s.calls.Stopping.Load() {
				s.end(fmt.Errorf("accept connections: %w", err))
			}
			break
		}
		if c := conn.(*wire.Connection); !c.Park() { // many at once need not have goroutines
			s.begin(c)
		}
	}
	s.listener.Drain()
	close(s.next)
	s.connected.Wait()
	close(s.drained)
}

// begin makes a goroutine serve a connection: one that waits for a connection, if there is any.
func (s *Server) begin(conn *wire.Connection) {
	select {
	case s.next <- conn:
	default:
		s.connected.Go(func() { s.serve(conn) })
	}
}

// serve serves a connection, and then others, unless enough goroutines wait for them.
func (s *Server) serve(conn *wire.Connection) {
	for more := true; more; {
		s.calls.ServeConnection(conn)
		if s.idle.Add(1) > idleServers {
			s.idle.Add(-1)
			return
		}
		conn, more = <-s.next
		s.idle.Add(-1)
	}
}
