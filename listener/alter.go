package listener

import (
	"sync/atomic"
	"time"

	"mockserver/config"
)

// Applied is how often a specification was to be served since the server was started,
// the first among them.
type Applied struct {
	Served  uint64 // those that are, or were
	Refused uint64 // those that were wrong
	// Last is when one was served last, and Fine tells that none was refused since.
	Last time.Time
	Fine bool
}

// applied is what Applied is read from.
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

// Applied tells how often Apply and Alter were called, and whether the last one was fine.
func (s *Server) Applied() Applied {
	return Applied{
		Served: s.applied.served.Load(), Refused: s.applied.refused.Load(),
		Last: time.Unix(0, s.applied.last.Load()), Fine: s.applied.fine.Load(),
	}
}

// Stopping reports whether Shutdown was called: requests under way are finished, and no
// others are accepted.
func (s *Server) Stopping() bool { return s.stopping.Load() }

// Alter is Apply of what change makes of the specification that is served. No other
// specification is applied meanwhile, so change must call neither Apply nor Alter. When
// its error is not nil nothing is changed, and it is returned. Warnings that what was
// served before has too are not logged again.
func (s *Server) Alter(change func(served *config.Spec) (*config.Spec, error)) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	spec, err := change(s.Spec())
	if err != nil {
		return err
	}
	return s.apply(spec, s.warnings)
}
