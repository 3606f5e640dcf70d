package serve

import (
	"sync/atomic"
	"time"

	"mockserver/listener/observe/arrivals"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
)

// Each request is counted when it arrives, with the time since the response before it: see package
// arrivals.

// visit is what is known about when the streams of a connection came.
type visit struct {
	open    atomic.Int32 // streams whose responses are not made yet
	replied atomic.Int64 // when the last response was made, in ns since the recorder began; 0 before
}

// arrive counts the arrival of a request.
func (s *Server) arrive(c *Call) {
	switch p := c.peer.(type) {
	case *wire.Connection:
		came, last := p.Came()
		s.Recorder.Arrive(p.Shard(), came, last)
	case *h2.Stream:
		v, last := p.Conn().(beyond).visit, arrivals.UnderWay
		if v.open.Add(1) == 1 {
			last = time.Duration(v.replied.Load())
		}
		s.Recorder.Arrive(p.Shard(), p.Arrived().Sub(s.Recorder.Begun()), last)
	}
}

// leave notes that the response to a request is made, which took some time.
func (s *Server) leave(c *Call, took time.Duration) {
	at := c.In.Time.Sub(s.Recorder.Begun()) + took
	switch p := c.peer.(type) {
	case *wire.Connection:
		if c.In.Time.IsZero() && p != nil {
			read, _ := p.LastRead()
			at = read + took
		}
		p.Replied(at)
	case *h2.Stream:
		v := p.Conn().(beyond).visit
		v.replied.Store(int64(at))
		v.open.Add(-1)
	}
}
