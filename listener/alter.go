package listener

import (
	"errors"
	"math"
	"time"

	"mockserver/config"
	"mockserver/listener/memory/data"
	"mockserver/listener/observe/probe"
	"mockserver/listener/observe/recording"
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

// count counts a specification that was accepted, or refused with an error. The caller holds s.applying.
func (s *Server) count(err error) {
	a := *s.applied.Load()
	if a.Fine = err == nil; a.Fine {
		a.Served++
		a.Last = time.Now()
	} else {
		a.Refused++
	}
	s.applied.Store(&a)
}

// Control is what the admin API needs of a server, and other programs do not.
type Control Server

// Control returns the server for the admin API.
func (s *Server) Control() *Control { return (*Control)(s) }

// Probe returns the probe of the server. Shutdown stops it.
func (s *Server) Probe() *probe.Probe { return s.probe }

// Recordings returns the recordings of requests to upstreams.
func (c *Control) Recordings() *recording.Set { return c.compiler.Recordings }

// Data returns the sets of rows.
func (c *Control) Data() *data.Sets { return c.compiler.Data }

// Applied returns how many specifications were accepted and refused, when the latest accepted one
// took effect, and whether none has been refused since.
func (c *Control) Applied() Applied { return *c.applied.Load() }

// Stopping reports whether Shutdown was called: no new connections are accepted, and requests in
// progress are finished, unless the context of Shutdown ends first.
func (c *Control) Stopping() bool { return c.calls.Stopping.Load() }

// Alter applies the specification that change returns when given the one that is served. No other
// specification is applied in the meantime, so change must call neither Apply nor Alter. If change
// returns an error, nothing is changed and Alter returns that error. Warnings that the previous
// specification also had are not logged again.
func (c *Control) Alter(change func(served *config.Spec) (*config.Spec, error)) error {
	s := (*Server)(c)
	s.applying.Lock()
	defer s.applying.Unlock()
	spec, err := change(s.Spec())
	if err != nil {
		return err
	}
	return s.apply(spec, s.warnings)
}

// Try returns the error that Apply would return for a specification, and changes nothing.
func (c *Control) Try(spec *config.Spec) error {
	c.applying.Lock()
	defer c.applying.Unlock()
	if c.calls.Stopping.Load() {
		return ErrStopped
	}
	if _, problems := c.compiler.Compile(spec); problems.Err() != nil {
		return problems.Err()
	}
	return c.compiler.Recordings.Try(spec.Upstreams)
}

// Add serves further endpoints. They answer before those that are already served.
func (s *Server) Add(endpoints ...config.Endpoint) error {
	return s.Control().Alter(func(served *config.Spec) (*config.Spec, error) {
		return config.Join(config.New(endpoints...), served), nil
	})
}

// Reset serves a specification as if the server had just been started, for the next test: it
// forgets the journal, pending webhooks, and the state of rows, scenarios, sequences and limits. If
// the specification is invalid, nothing changes. Requests in the meantime are answered with 404.
func (s *Server) Reset(spec *config.Spec) error {
	if err := s.Control().Try(spec); err != nil {
		return err
	}
	pending, _ := s.PendingWebhooks(math.MaxInt)
	for _, w := range pending {
		_ = s.CancelWebhook(w.ID) // one that is being sent cannot be cancelled
	}
	err := errors.Join(s.Apply(config.New()), s.Apply(spec)) // state belongs to the declarations that are served
	s.ResetJournal()
	return err
}
