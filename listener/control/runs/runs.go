// Package runs records named periods of time, called runs. It reports what happened in a run, and
// compares two runs.
package runs

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/dispatcher"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// Server is the server that runs report on.
type Server interface {
	Spec() *config.Spec
	Unmatched() []record.Miss
	CountWebhooks() *dispatcher.Counters
	// TrackArrivals compares arrivals with a schedule from now on; nil for none.
	TrackArrivals(*arrivals.Schedule)
}

// Runs contains the runs that are kept. Its methods may be called from any goroutine.
type Runs struct {
	sampler *verdict.Sampler
	server  Server
	program Program
	printed atomic.Pointer[printed]

	mu     sync.Mutex // guards the fields below; never held while the sampler takes a reading
	all    []*run     // the oldest first
	last   int        // number of the last run
	active *run
}

// New returns the runs of a server. The result becomes the observer of the sampler.
func New(sampler *verdict.Sampler, server Server, build settings.Build) *Runs {
	r := &Runs{sampler: sampler, server: server, program: Program{Version: build.Version, Commit: build.Commit, Go: runtime.Version()}}
	sampler.Observe(r)
	return r
}

// Sampled adds a sample to the active run, and makes the final reports of runs that have settled.
func (r *Runs) Sampled(s verdict.Sample, v verdict.Verdict) {
	r.mu.Lock()
	for _, one := range r.all {
		if one.end != nil && one.settled(s.Time) {
			one.update(s.Time)
		}
	}
	r.mu.Unlock()
	if id, _ := r.Active(); id == "" {
		return
	}
	spec, end := r.Fingerprint(), r.sampler.Last()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active != nil && s.Seconds > 0 {
		r.active.changed = r.active.changed || spec != r.active.spec
		r.active.sampled(s, v, end)
	}
}

// printed is the fingerprint of a specification, which takes long to compute for a large one.
type printed struct {
	spec *config.Spec
	text string
}

// Fingerprint returns the fingerprint of the specification that is served.
func (r *Runs) Fingerprint() string {
	spec := r.server.Spec()
	if known := r.printed.Load(); known != nil && known.spec == spec {
		return known.text
	}
	made := &printed{spec, spec.Fingerprint()}
	r.printed.Store(made)
	return made.text
}

// List returns the runs that are kept, the newest first, as of the last reading: with an earlier
// reading, a new run could have a negative number of requests.
func (r *Runs) List() []RunEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.sampler.Last()
	list := []RunEntry{}
	for _, one := range slices.Backward(r.all) {
		list = append(list, one.entry(now))
	}
	return list
}

// Active returns the ID and the name of the active run; both are "" if there is none.
func (r *Runs) Active() (id, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == nil {
		return "", ""
	}
	return r.active.id, r.active.name
}

// ErrRunning is the error for an operation that is not possible while a run is active.
var ErrRunning = errors.New("another run is under way")

// Begin begins a run. The error wraps ErrRunning if another run is active or a run with this ID
// exists.
func (r *Runs) Begin(b Beginning) (RunEntry, error) {
	if id, name := r.Active(); id != "" {
		return RunEntry{}, underWay(id, name)
	}
	misses, spec := r.server.Unmatched(), r.Fingerprint()
	first := r.sampler.Now(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active != nil { // another request began a run first
		return RunEntry{}, underWay(r.active.id, r.active.name)
	}
	if b.ID == "" {
		r.last++
		b.ID = strconv.Itoa(r.last)
	} else if slices.ContainsFunc(r.all, func(one *run) bool { return one.id == b.ID }) {
		return RunEntry{}, fmt.Errorf("%w: there is a run with the ID %s", ErrRunning, b.ID)
	}
	one := newRun(b, first, misses, spec, r.server.CountWebhooks())
	r.server.TrackArrivals(b.Schedule)
	r.all = append(r.all, one)
	if len(r.all) > Kept {
		r.all = slices.Delete(r.all, 0, 1)
	}
	r.active = one
	return one.entry(first), nil
}

func underWay(id, name string) error {
	return fmt.Errorf("%w: %q, with the ID %s; stop it first", ErrRunning, name, id)
}

// find returns the run with an ID, or nil if it does not exist, and its report, as of now, if it has
// ended.
func (r *Runs) find(id string) (*run, *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(one *run) bool { return one.id == id })
	if i < 0 {
		return nil, nil
	}
	if r.all[i].end != nil {
		r.all[i].update(r.sampler.Last().Time)
	}
	return r.all[i], r.all[i].report
}

// End ends a run and returns its report. The report is nil if the run had already ended.
func (r *Runs) End(id string) (report *Report, found bool) {
	one, ended := r.find(id)
	if one == nil || ended != nil {
		return nil, one != nil
	}
	last, now := r.sampler.Now(false), r.setting()
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.report == nil {
		r.server.TrackArrivals(nil)
		r.server.CountWebhooks() // those of requests after the run belong to no run
		one.end, one.ended = last, now
		one.update(last.Time)
		report = one.report
		r.active = nil
		r.forgetTotals()
	}
	return report, true
}

// forgetTotals drops the totals of all but the last few fleet runs, since they take more memory
// than reports. The caller must hold r.mu.
func (r *Runs) forgetTotals() {
	kept := 0
	for _, one := range slices.Backward(r.all) {
		if one.totals == nil {
			continue
		}
		if kept++; kept > totalsKept {
			one.totals = nil
		}
	}
}

// Report returns the report of a run, up to now if it is active. It returns nil if the run does not
// exist.
func (r *Runs) Report(id string) *Report {
	report, totals := r.current(id)
	if report == nil && totals != nil {
		return totals.Report()
	}
	return report
}

// Totals returns the totals of a run, up to now if it is active, with the points that end after
// the given second of the run. It returns nil if the run does not exist, or if it has ended and is
// not one of the last fleet runs.
func (r *Runs) Totals(id string, after float64) *Totals {
	_, totals := r.current(id)
	if totals == nil {
		return nil
	}
	later := *totals
	later.Timeline = slices.DeleteFunc(slices.Clone(totals.Timeline), func(p Point) bool { return p.At <= after })
	return &later
}

// current returns the report of a run that has ended, with its totals if they are kept, or only the
// totals of an active one, up to now.
func (r *Runs) current(id string) (*Report, *Totals) {
	one, _ := r.find(id)
	if one == nil {
		return nil, nil
	}
	last, now := r.sampler.Read(), r.setting() // Read, not Now: frequent reports would make tiny samples
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.report == nil {
		return nil, one.totalsAt(&last, now)
	}
	return one.report, one.totals
}

// setting returns the data that a report needs in addition to its run.
func (r *Runs) setting() setting {
	return setting{program: r.program, spec: r.Fingerprint(), misses: r.server.Unmatched(), judge: r.sampler.Judge}
}

// Remove removes a run and reports whether it existed. The error is ErrRunning if the run has not
// ended.
func (r *Runs) Remove(id string) (found bool, err error) {
	one, ended := r.find(id)
	switch {
	case one == nil:
		return false, nil
	case ended == nil:
		return true, ErrRunning
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.all)
	r.all = slices.DeleteFunc(r.all, func(other *run) bool { return other == one })
	return len(r.all) < n, nil
}
