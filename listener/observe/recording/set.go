package recording

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/renderer"
)

// Set contains the recordings of a server, by the names of upstreams. Its methods may be called
// from any goroutine.
type Set struct {
	log   *slog.Logger
	scope *renderer.Scope // scope for conditions
	lost  atomic.Uint64   // exchanges that all recordings have dropped

	changing sync.Mutex // held while recordings begin and end, which may take long
	last     int        // the last ID; guarded by changing
	closed   bool       // guarded by changing

	mu      sync.Mutex // guards the fields below
	taps    map[string]*Tap
	used    map[string]bool // upstreams that endpoints of the specification use
	running map[*Recorder]bool
	ended   []Stats // recordings that have ended, the oldest first
}

// Tap holds the recorder of an upstream. It survives reloads.
type Tap struct {
	recorder atomic.Pointer[Recorder] // nil if none

	// What follows is guarded by Set.changing.
	declared  string // fingerprint of the declaration that was followed last; "" for none
	requested bool   // the recorder was started by a request
	url       string // "" while the upstream is not declared
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
	return &Set{log: log, scope: &renderer.Scope{Env: env}, taps: map[string]*Tap{}, running: map[*Recorder]bool{}}
}

// Begin begins the compilation of a specification, whose endpoints use the upstreams for which Tap
// is called afterwards.
func (s *Set) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = map[string]bool{}
}

// Tap returns the tap of an upstream.
func (s *Set) Tap(name string) *Tap {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[name] = true
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
func Check(u *item.Upstream, scope *renderer.Scope) syntax.Problems {
	if u.Record == nil {
		return nil
	}
	_, problems := renderer.CompileCondition(u.Record.If, scope)
	return problems
}

// Follow begins and ends recordings according to what the upstreams of the specification declare. A
// recording that a request started continues as long as its upstream is declared, and one that a
// request stopped begins again once its declaration changes. If a recording cannot begin, the error
// is a config.Problems, and nothing has changed.
func (s *Set) Follow(upstreams []item.Upstream) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.closed {
		return nil
	}
	declared, begun, problems := s.begin(upstreams, Open)
	if problems != nil {
		for _, r := range begun {
			r.discard()
		}
		return problems
	}
	for _, t := range s.allTaps() {
		s.follow(t, declared[t], begun[t])
	}
	return nil
}

// Try returns the error that Follow would return because a directory cannot be written, or another
// process records to it. Try writes nothing.
func (s *Set) Try(upstreams []item.Upstream) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	defer func(last int) { s.last = last }(s.last)
	_, _, problems := s.begin(upstreams, try)
	return problems.Err()
}

// begin calls open for the recordings that are to begin. It also returns the upstreams that are
// declared, and used. The caller must hold s.changing.
func (s *Set) begin(upstreams []item.Upstream, open func(Options) (*Recorder, error)) (declared map[*Tap]*item.Upstream, begun map[*Tap]*Recorder, problems syntax.Problems) {
	declared, begun = map[*Tap]*item.Upstream{}, map[*Tap]*Recorder{}
	taps := s.usedTaps()
	for i := range upstreams {
		u := &upstreams[i]
		t := taps[u.Name]
		if t == nil {
			continue
		}
		declared[t] = u
		if u.Record == nil || t.declared == fingerprint(u) || t.requested && t.Recorder() != nil {
			continue
		}
		r, err := s.open(open, t, u.Name, u.URL.Value, u.Dir, *u.Record)
		if err != nil {
			problems = append(problems, syntax.Problem{Pos: u.Record.Pos, Key: u.Record.Key, What: "cannot " + err.Error()})
			continue
		}
		begun[t] = r
	}
	return declared, begun, problems
}

// follow makes a tap record what an upstream declares: with a recorder that has been opened for
// that, or with the one that it has. The upstream is nil if it is not declared, or not used.
func (s *Set) follow(t *Tap, u *item.Upstream, begun *Recorder) {
	switch {
	case u == nil:
		t.url, t.declared = "", ""
		s.replace(t, nil)
		return
	case begun != nil:
		t.declared, t.requested = fingerprint(u), false
		s.replace(t, begun)
	case u.Record == nil:
		if t.declared = ""; !t.requested {
			s.replace(t, nil)
		}
	}
	t.url = u.URL.Value
}

// fingerprint returns a text that is the same for upstreams whose recordings are the same.
func fingerprint(u *item.Upstream) string {
	if u.Record == nil {
		return ""
	}
	alike := item.Upstream{URL: u.URL, Record: u.Record, Dir: u.Dir}
	return alike.Fingerprint()
}

// allTaps returns all taps.
func (s *Set) allTaps() []*Tap {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.taps))
}

// usedTaps returns the taps of the upstreams that endpoints use, by name.
func (s *Set) usedTaps() map[string]*Tap {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := maps.Clone(s.taps)
	maps.DeleteFunc(used, func(name string, _ *Tap) bool { return !s.used[name] })
	return used
}

// open begins a recording of an upstream with Open, or tries. It is declared in a file in dir, which
// is "" for the working directory. The caller must hold s.changing.
func (s *Set) open(open func(Options) (*Recorder, error), t *Tap, name, url, dir string, declared item.Record) (*Recorder, error) {
	condition, problems := renderer.CompileCondition(declared.If, s.scope)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if dir != "" && !filepath.IsAbs(declared.To) {
		dir = filepath.Join(dir, declared.To)
	} else {
		dir = declared.To
	}
	s.last++
	return open(Options{
		ID: strconv.Itoa(s.last), Upstream: name, URL: url, Dir: dir, Declared: declared, If: condition.Holds, Log: s.log,
		before: t.Recorder(), lost: &s.lost,
	})
}

// replace gives a tap the recorder begun, which was just opened or is nil for none, and ends the
// previous recorder of the tap. It returns the final figures of the previous recorder. The caller
// must hold s.changing.
func (s *Set) replace(t *Tap, begun *Recorder) (ended Stats) {
	s.mu.Lock()
	if begun != nil {
		s.running[begun] = true
	}
	s.mu.Unlock()
	before := t.recorder.Swap(begun)
	if begun != nil {
		s.log.Info("recording", "upstream", begun.opts.Upstream, "file", begun.Stats().Paths[0])
	}
	if before == nil {
		return Stats{}
	}
	before.end(begun)
	ended = before.Stats() // a failure was logged
	s.log.Info("recording ended", "upstream", ended.Upstream, "requests", ended.Requests, "dropped", ended.Dropped, "bytes", ended.Bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, before)
	s.ended = append(s.ended, ended)
	if len(s.ended) > endedKept {
		s.ended = s.ended[1:]
	}
	return ended
}

// Close ends all recordings. No recording can begin afterwards.
func (s *Set) Close() {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.closed = true
	for _, t := range s.allTaps() {
		s.replace(t, nil)
	}
}

// Dropped returns how many exchanges all recordings have dropped.
func (s *Set) Dropped() uint64 { return s.lost.Load() }

// Listed is a recording with its figures so far.
type Listed struct {
	Stats
	Running bool `json:"running" doc:"whether it is still running"`
}

// List returns the recordings that are running, and the last ones that have ended, the latest
// first.
func (s *Set) List() []Listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Listed
	for _, stats := range s.ended {
		stats.Dropped = stats.dropped.Load()
		all = append(all, Listed{Stats: stats})
	}
	for r := range s.running {
		all = append(all, Listed{Stats: r.Stats(), Running: true})
	}
	slices.SortFunc(all, func(a, b Listed) int { return b.Started.Compare(a.Started) })
	return all
}

// Start records an upstream from now on, in a directory relative to the working directory.
func (s *Set) Start(name string, declared item.Record) (Listed, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	t := s.taps[name]
	s.mu.Unlock()
	switch {
	case t == nil || t.url == "" || s.closed:
		return Listed{}, fmt.Errorf("%w: %q", ErrNoUpstream, name)
	case t.Recorder() != nil:
		return Listed{}, ErrRecording
	}
	r, err := s.open(Open, t, name, t.url, "", declared)
	if err != nil {
		return Listed{}, err
	}
	t.requested = true
	s.replace(t, r)
	return Listed{Stats: r.Stats(), Running: true}, nil
}

// Stop ends a recording.
func (s *Set) Stop(id string) (Listed, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	for _, t := range s.allTaps() {
		if r := t.Recorder(); r != nil && r.opts.ID == id {
			t.requested = false
			return Listed{Stats: s.replace(t, nil)}, nil
		}
	}
	return Listed{}, ErrNoRecording
}
