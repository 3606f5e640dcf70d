package listener

import (
	"sync/atomic"
	"time"

	"mockserver/config"
)

// Applied counts the specifications that the server has been given since it was started, including
// the first one.
type Applied struct {
	Served  uint64 // accepted and served
	Refused uint64 // invalid
	// Last is the time when the latest accepted specification took effect. Fine reports whether
	// none has been refused since.
	Last time.Time
	Fine bool
}

// applied holds the counters that Applied reports.
type applied struct {
	served, refused atomic.Uint64
	last            atomic.Int64 // Unix nanoseconds
	fine            atomic.Bool
}

func (a *applied) note(err error) {
	a.fine.Store(err == nil)
	if err != nil {
		a.refused.Add(1)
		return
	}
	a.served.Add(1)
	a.last.Store(time.Now().UnixNano())
}

// Applied returns how many specifications were accepted and refused, when the latest accepted one
// took effect, and whether none has been refused since.
func (s *Server) Applied() Applied {
	return Applied{
		Served: s.applied.served.Load(), Refused: s.applied.refused.Load(),
		Last: time.Unix(0, s.applied.last.Load()), Fine: s.applied.fine.Load(),
	}
}

// Stopping reports whether Shutdown was called: no new connections are accepted, and requests in
// progress are finished, unless the context of Shutdown ends first.
func (s *Server) Stopping() bool { return s.stopping.Load() }

// Alter applies the specification that change returns when given the one that is served. No other
// specification is applied in the meantime, so change must call neither Apply nor Alter. If change
// returns an error, nothing is changed and Alter returns that error. Warnings that the previous
// specification also had are not logged again.
func (s *Server) Alter(change func(served *config.Spec) (*config.Spec, error)) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	spec, err := change(s.Spec())
	if err != nil {
		return err
	}
	return s.apply(spec, s.warnings)
}

// Try returns the error that Apply would return for a specification, and changes nothing.
func (s *Server) Try(spec *config.Spec) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if s.stopping.Load() {
		return ErrStopped
	}
	if _, problems := s.compiler.compile(spec); problems.Err() != nil {
		return problems.Err()
	}
	return s.compiler.recordings.Try(spec.Upstreams)
}
