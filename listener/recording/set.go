package recording

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Set contains the recordings of a server, by the names of upstreams. Its methods may be called
// from any goroutine.
type Set struct {
	log   *slog.Logger
	scope *renderer.Scope // scope for conditions

	mu     sync.Mutex // guards the fields below
	taps   map[string]*Tap
	ended  []Stats // recordings that have ended, the oldest first
	last   int     // the last ID
	closed bool
	lost   uint64 // exchanges that ended recordings have dropped
}

// Tap holds the recorder of an upstream. It survives reloads.
type Tap struct {
	recorder atomic.Pointer[Recorder] // nil if none
	declared string                   // fingerprint of the declaration; "" for a recorder that a request started
	url      string                   // "" while the upstream is not declared
}

// The errors that Set.Start and Set.Stop return.
var (
	ErrNoUpstream  = errors.New("there is no such upstream, or no endpoint uses it")
	ErrRecording   = errors.New("the upstream is being recorded already")
	ErrNoRecording = errors.New("there is no such recording")
)

// endedKept is how many ended recordings are listed.
const endedKept = 20

// NewSet returns a set without recordings. Conditions can use the environment variables that env
// returns.
func NewSet(log *slog.Logger, env func(string) (string, bool)) *Set {
	return &Set{log: log, scope: &renderer.Scope{Env: env}, taps: map[string]*Tap{}}
}

// Tap returns the tap of an upstream.
func (s *Set) Tap(name string) *Tap {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taps[name] == nil {
		s.taps[name] = &Tap{}
	}
	return s.taps[name]
}

// Recorder returns the recorder of the tap; nil if there is none, and for a nil tap.
func (t *Tap) Recorder() *Recorder {
	if t == nil {
		return nil
	}
	return t.recorder.Load()
}

// Check returns the problems with a recording's condition.
func Check(u *config.Upstream, scope *renderer.Scope) syntax.Problems {
	if u.Record == nil {
		return nil
	}
	_, problems := renderer.CompileCondition(u.Record.If, scope)
	return problems
}

// Follow begins and ends recordings, so that those that upstreams declare are running. A recording
// that a request started continues as long as its upstream is declared. If one cannot begin, the
// error is a config.Problems, and the others may have begun and ended.
func (s *Set) Follow(upstreams []config.Upstream) error {
	declared := map[string]string{}
	for i := range upstreams {
		u := &upstreams[i]
		declared[u.Name] = ""
		if u.Record != nil {
			declared[u.Name] = u.Fingerprint()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	for name, t := range s.taps {
		as, known := declared[name]
		if !known {
			t.url = ""
		}
		if t.Recorder() != nil && (!known || t.declared != "" && t.declared != as) {
			s.end(t)
		}
	}
	for i := range upstreams {
		u := &upstreams[i]
		t := s.taps[u.Name]
		if t == nil { // no endpoint uses it
			continue
		}
		t.url = u.URL.Value
		if u.Record == nil || t.Recorder() != nil {
			continue
		}
		if err := s.begin(t, u.Name, u.Dir, *u.Record); err != nil {
			return syntax.Problems{{Pos: u.Record.Pos, Key: u.Record.Key, What: "cannot " + err.Error()}}
		}
		t.declared = declared[u.Name]
	}
	return nil
}

// begin begins a recording. The caller must hold s.mu.
func (s *Set) begin(t *Tap, name, dir string, declared config.Record) error {
	condition, problems := renderer.CompileCondition(declared.If, s.scope)
	if err := problems.Err(); err != nil {
		return err
	}
	var holds func(*matcher.Request) bool
	if condition != nil {
		holds = condition.Holds
	}
	to := declared.To
	if dir != "" && !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	s.last++
	r, err := Open(Options{ID: strconv.Itoa(s.last), Upstream: name, URL: t.url, Dir: to, Declared: declared, If: holds, Log: s.log})
	if err != nil {
		return err
	}
	t.declared = ""
	t.recorder.Store(r)
	return nil
}

// end ends the recording of a tap. The caller must hold s.mu.
func (s *Set) end(t *Tap) Stats {
	r := t.recorder.Swap(nil)
	_ = r.Close() // the error was logged and is in the figures
	stats := r.Stats()
	s.lost += stats.Dropped
	s.ended = append(s.ended, stats)
	if len(s.ended) > endedKept {
		s.ended = s.ended[1:]
	}
	return stats
}

// Close ends all recordings. No recording can begin afterwards.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, t := range s.taps {
		if t.Recorder() != nil {
			s.end(t)
		}
	}
}

// Dropped returns how many exchanges all recordings have dropped.
func (s *Set) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.lost
	for _, t := range s.taps {
		if r := t.Recorder(); r != nil {
			n += r.Stats().Dropped
		}
	}
	return n
}

// Listed is a recording with its figures so far.
type Listed struct {
	Stats
	Running bool
}

// List returns the recordings that are running, and the last ones that have ended, the latest
// first.
func (s *Set) List() []Listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Listed
	for _, stats := range s.ended {
		all = append(all, Listed{Stats: stats})
	}
	for _, t := range s.taps {
		if r := t.Recorder(); r != nil {
			all = append(all, Listed{Stats: r.Stats(), Running: true})
		}
	}
	slices.SortFunc(all, func(a, b Listed) int { return b.Started.Compare(a.Started) })
	return all
}

// Start records an upstream from now on, in a directory relative to the working directory.
func (s *Set) Start(name string, declared config.Record) (Listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.taps[name]
	switch {
	case t == nil || t.url == "" || s.closed:
		return Listed{}, fmt.Errorf("%w: %q", ErrNoUpstream, name)
	case t.Recorder() != nil:
		return Listed{}, ErrRecording
	}
	if err := s.begin(t, name, "", declared); err != nil {
		return Listed{}, err
	}
	return Listed{Stats: t.Recorder().Stats(), Running: true}, nil
}

// Stop ends a recording.
func (s *Set) Stop(id string) (Listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.taps {
		if r := t.Recorder(); r != nil && r.ID() == id {
			return Listed{Stats: s.end(t)}, nil
		}
	}
	return Listed{}, ErrNoRecording
}
