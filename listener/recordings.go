package listener

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/fetcher/upstream"
	"mockserver/listener/recording"
	"mockserver/matcher"
	"mockserver/renderer"
)

// recordings are those of a server, by the names of upstreams.
type recordings struct {
	mu     sync.Mutex // guards the fields below
	taps   map[string]*tap
	ended  []recording.Stats // the oldest first
	last   int               // the last ID
	closed bool
	lost   uint64 // dropped by recordings that have ended
}

// tap is where the exchanges of an upstream are recorded. It survives reloads.
type tap struct {
	recorder atomic.Pointer[recording.Recorder] // nil for none
	declared string                             // what the recorder was declared as; "" for one that was started by a request
	url      string
}

// Errors of recordings that are started and stopped.
var (
	ErrNoUpstream  = errors.New("there is no such upstream")
	ErrRecording   = errors.New("the upstream is being recorded already")
	ErrNoRecording = errors.New("there is no such recording")
)

// endedKept is how many ended recordings are listed.
const endedKept = 20

// tap returns that of an upstream.
func (r *recordings) tap(name string) *tap {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taps == nil {
		r.taps = map[string]*tap{}
	}
	if r.taps[name] == nil {
		r.taps[name] = &tap{}
	}
	return r.taps[name]
}

// current returns the recorder; nil for none, and for a nil tap.
func (t *tap) current() *recording.Recorder {
	if t == nil {
		return nil
	}
	return t.recorder.Load()
}

// record begins and ends the recordings that a specification declares.
func (s *Server) record(spec *config.Spec) error {
	r := &s.compiler.recordings
	declared := map[string]string{}
	for i := range spec.Upstreams {
		u := &spec.Upstreams[i]
		declared[u.Name] = ""
		if u.Record != nil {
			declared[u.Name] = u.Fingerprint()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, t := range r.taps {
		as, known := declared[name]
		if rec := t.recorder.Load(); rec != nil && (!known || t.declared != "" && t.declared != as) {
			r.end(t)
		}
	}
	for i := range spec.Upstreams {
		u := &spec.Upstreams[i]
		t := r.taps[u.Name]
		if t == nil { // no endpoint uses it
			continue
		}
		t.url = u.URL.Value
		if u.Record == nil || t.recorder.Load() != nil {
			continue
		}
		if err := r.begin(s, t, u.Name, u.Dir, *u.Record); err != nil {
			return err
		}
		t.declared = declared[u.Name]
	}
	return nil
}

// begin begins a recording. The caller holds r.mu.
func (r *recordings) begin(s *Server, t *tap, name, dir string, declared config.Record) error {
	condition, problems := renderer.CompileCondition(declared.If, &renderer.Scope{Env: s.opts.Env})
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
	r.last++
	rec, err := recording.Open(recording.Options{
		ID: strconv.Itoa(r.last), Upstream: name, URL: t.url, Dir: to, Declared: declared, If: holds, Log: s.log,
	})
	if err != nil {
		return err
	}
	t.declared = ""
	t.recorder.Store(rec)
	return nil
}

// end ends the recording of a tap. The caller holds r.mu.
func (r *recordings) end(t *tap) recording.Stats {
	rec := t.recorder.Swap(nil)
	_ = rec.Close() // the error is in its figures, and was logged
	stats := rec.Stats()
	r.lost += stats.Dropped
	r.ended = append(r.ended, stats)
	if len(r.ended) > endedKept {
		r.ended = r.ended[1:]
	}
	return stats
}

// close ends all recordings.
func (r *recordings) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, t := range r.taps {
		if t.recorder.Load() != nil {
			r.end(t)
		}
	}
}

// dropped returns how many exchanges all recordings have dropped.
func (r *recordings) dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.lost
	for _, t := range r.taps {
		if rec := t.recorder.Load(); rec != nil {
			n += rec.Stats().Dropped
		}
	}
	return n
}

// Recording is a recording, with what it has so far.
type Recording struct {
	recording.Stats
	Running bool
}

// Recordings returns the recordings that are running, and the last ones that have ended, the latest
// first.
func (s *Server) Recordings() []Recording {
	r := &s.compiler.recordings
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Recording
	for _, stats := range r.ended {
		all = append(all, Recording{Stats: stats})
	}
	for _, t := range r.taps {
		if rec := t.recorder.Load(); rec != nil {
			all = append(all, Recording{Stats: rec.Stats(), Running: true})
		}
	}
	slices.SortFunc(all, func(a, b Recording) int { return b.Started.Compare(a.Started) })
	return all
}

// StartRecording records an upstream from now on, in a directory relative to the working directory.
func (s *Server) StartRecording(name string, declared config.Record) (Recording, error) {
	r := &s.compiler.recordings
	spec := s.Spec()
	i := slices.IndexFunc(spec.Upstreams, func(u config.Upstream) bool { return u.Name == name })
	if i < 0 {
		return Recording{}, fmt.Errorf("%w: %q", ErrNoUpstream, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.taps[name]
	switch {
	case t == nil || r.closed:
		return Recording{}, fmt.Errorf("%w: %q is used by no endpoint", ErrNoUpstream, name)
	case t.recorder.Load() != nil:
		return Recording{}, ErrRecording
	}
	if err := r.begin(s, t, name, "", declared); err != nil {
		return Recording{}, err
	}
	return Recording{Stats: t.recorder.Load().Stats(), Running: true}, nil
}

// StopRecording ends a recording.
func (s *Server) StopRecording(id string) (Recording, error) {
	r := &s.compiler.recordings
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.taps {
		if rec := t.recorder.Load(); rec != nil && rec.ID() == id {
			return Recording{Stats: r.end(t)}, nil
		}
	}
	return Recording{}, ErrNoRecording
}

// taping is the part of a recording that one exchange makes.
type taping struct {
	recorder *recording.Recorder
	entry    *recording.Entry // nil for none
}

// answered notes the head of an answer and what is known of its body.
func (t *taping) answered(x *upstream.Exchange) {
	if t.entry == nil {
		return
	}
	t.entry.Answer(x.Status, x.Fields)
	t.entry.More(x.Body)
	if x.Whole {
		t.end(x, "", x.Status)
	}
}

// more notes a part of a body, and its end.
func (t *taping) more(x *upstream.Exchange, b []byte, over bool, broken bool) {
	if t.entry == nil {
		return
	}
	t.entry.More(b)
	switch {
	case broken:
		t.end(x, codeCut, x.Status)
	case over:
		t.end(x, "", x.Status)
	}
}

// end hands the exchange over.
func (t *taping) end(x *upstream.Exchange, failure string, status int) {
	if t.entry == nil {
		return
	}
	var first, last time.Duration
	if !x.First.IsZero() {
		first, last = x.First.Sub(x.Sent), time.Since(x.Sent)
	}
	t.entry.Times(x.Waited+x.Connected, first, last, x.UnderWay)
	if failure != "" {
		t.entry.Fail(failure, status)
	}
	t.recorder.End(t.entry)
	*t = taping{}
}

// Why an exchange was not whole, in a recording.
const (
	codeCut  = "cut"
	codeLeft = "left"
)

// served makes the reply a recorded answer, and reports whether there is one.
func (s *Server) served(a *answer, c *call, rec *recording.Recorder) bool {
	found := rec.Recorded(&c.Request)
	if found == nil {
		return false
	}
	c.reply.Fields = c.reply.Fields[:0]
	c.reply.Status, c.reply.Body = found.Status, found.Body
	for _, h := range found.Headers {
		if !a.proxy.sets([]byte(h[0])) {
			c.reply.Add(h[0], h[1])
		}
	}
	a.addHeaders(c)
	if a.typeDeclared {
		c.reply.ContentType = a.contentType
	}
	return true
}

// checkRecord returns what is wrong with the condition of a recording.
func checkRecord(u *config.Upstream, scope *renderer.Scope) syntax.Problems {
	if u.Record == nil {
		return nil
	}
	_, problems := renderer.CompileCondition(u.Record.If, scope)
	return problems
}
