package serve

import (
	"sync/atomic"
	"time"

	"mockserver/listener/observe/arrivals"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
)

// visit is what wire.Visit is, for a connection with several streams at once.
type visit struct {
	server  *Server
	open    atomic.Int32 // streams whose replies are not made yet
	replied atomic.Int64 // nanoseconds since the recorder began
}

// arrive counts the arrival of a request.
func (s *Server) arrive(c *call) {
	switch p := c.peer.(type) {
	case *wire.Connection:
		if p != nil {
			s.Recorder.Arrive(p.Shard(), p.Came, p.Replied)
		}
	case *h2.Stream:
		v, last := p.Conn().(beyond).visit, arrivals.UnderWay
		if v.open.Add(1) == 1 {
			last = time.Duration(v.replied.Load())
		}
		s.Recorder.Arrive(p.Shard(), p.Arrived().Sub(s.Recorder.Begun()), last)
	}
}

// leave notes that the reply to a request is made, which took some time.
func (s *Server) leave(c *call, took time.Duration) {
	begun := c.In.Time
	switch p := c.peer.(type) {
	case *wire.Connection:
		if p == nil {
			return
		}
		if begun.IsZero() { // it is answered directly
			begun = p.ReadAt()
		}
		p.Replied = begun.Sub(s.Recorder.Begun()) + took
	case *h2.Stream:
		v := p.Conn().(beyond).visit
		v.replied.Store(int64(begun.Sub(s.Recorder.Begun()) + took))
		v.open.Add(-1)
	}
}
