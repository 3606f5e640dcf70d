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
// error is a config.Problems, and the recordings are as they were, unless one was to begin anew in the
// same directory.
func (s *Set) Follow(upstreams []config.Upstream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	begun, err := s.openNew(upstreams)
	if err != nil {
		return err
	}
	declared := map[*Tap]*config.Upstream{}
	for i := range upstreams {
		if t := s.taps[upstreams[i].Name]; t != nil {
			declared[t] = &upstreams[i]
		}
	}
	for _, t := range s.taps {
		u, r := declared[t], begun[t]
		t.url = ""
		if u != nil {
			t.url = u.URL.Value
		}
		if t.Recorder() != nil && (u == nil || r != nil || u.Record == nil && t.declared != "") {
			s.end(t)
		}
		if r != nil {
			t.declared = u.Fingerprint()
			t.recorder.Store(r)
		}
	}
	return nil
}

// openNew opens the recordings that upstreams declare and that are not running. The caller must hold
// s.mu.
func (s *Set) openNew(upstreams []config.Upstream) (map[*Tap]*Recorder, error) {
	begun := map[*Tap]*Recorder{}
	for i := range upstreams {
		u := &upstreams[i]
		t := s.taps[u.Name]
		if t == nil || u.Record == nil { // a nil tap: no endpoint uses the upstream
			continue
		}
		running := t.Recorder()
		if running != nil && (t.declared == "" || t.declared == u.Fingerprint()) {
			continue
		}
		if running != nil && running.opts.Dir == directoryOf(u.Dir, u.Record) { // two cannot use it
			s.end(t)
		}
		r, err := s.open(u.Name, u.URL.Value, u.Dir, *u.Record)
		if err != nil {
			for _, r := range begun {
				_ = r.Close() // nothing was recorded
			}
			return nil, syntax.Problems{{Pos: u.Record.Pos, Key: u.Record.Key, What: "cannot " + err.Error()}}
		}
		begun[t] = r
	}
	return begun, nil
}

// directoryOf returns the directory of a recording that is declared in a file in dir, which is "" for
// the working directory.
func directoryOf(dir string, declared *config.Record) string {
	if dir != "" && !filepath.IsAbs(declared.To) {
		return filepath.Join(dir, declared.To)
	}
	return declared.To
}

// open begins a recording of an upstream. The caller must hold s.mu.
func (s *Set) open(name, url, dir string, declared config.Record) (*Recorder, error) {
	condition, problems := renderer.CompileCondition(declared.If, s.scope)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var holds func(*matcher.Request) bool
	if condition != nil {
		holds = condition.Holds
	}
	s.last++
	return Open(Options{ID: strconv.Itoa(s.last), Upstream: name, URL: url, Dir: directoryOf(dir, &declared), Declared: declared, If: holds, Log: s.log})
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
	r, err := s.open(name, t.url, "", declared)
	if err != nil {
		return Listed{}, err
	}
	t.declared = ""
	t.recorder.Store(r)
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
