// Package runs keeps named stretches of time, reports what happened in them, and compares
// two of them.
package runs

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/listener/record"
	"mockserver/listener/verdict"
)

// Server is what runs report on.
type Server interface {
	Spec() *config.Spec
	Unmatched() []record.Miss
}

// Runs are the runs that are kept. Its methods may be called from any goroutine.
type Runs struct {
	sampler *verdict.Sampler
	server  Server
	program Program

	mu     sync.Mutex // guards what follows; never held while the sampler takes a reading
	all    []*run     // the oldest first
	last   int        // number
	active *run
}

// New keeps the runs of a server, of which the sampler tells each sample.
func New(sampler *verdict.Sampler, server Server, build settings.Build) *Runs {
	r := &Runs{sampler: sampler, server: server, program: Program{Version: build.Version, Commit: build.Commit, Go: runtime.Version()}}
	sampler.Observe(r)
	return r
}

// Sampled adds a sample to the run that is under way.
func (r *Runs) Sampled(s verdict.Sample, v verdict.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active != nil && s.Seconds > 0 {
		r.active.sampled(s, v)
	}
}

// List is the runs that are kept, the newest first, as of the reading that was taken
// last: of an earlier one a run that began meanwhile would have had less than nothing.
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

// ErrRunning is in the errors of what cannot be done while a run is under way.
var ErrRunning = errors.New("another run is under way")

// Begin begins a run, unless another is under way: the error is ErrRunning then. Without
// a name it is called by its number.
func (r *Runs) Begin(name string) (RunEntry, error) {
	if err := r.running(); err != nil {
		return RunEntry{}, err
	}
	misses, spec := r.server.Unmatched(), r.server.Spec().Fingerprint()
	first := r.sampler.Now(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active != nil { // somebody was quicker
		return RunEntry{}, r.underWay()
	}
	r.last++
	one := newRun(strconv.Itoa(r.last), name, first, misses, spec)
	r.all = append(r.all, one)
	if len(r.all) > Kept {
		r.all = slices.Delete(r.all, 0, 1)
	}
	r.active = one
	return one.entry(first), nil
}

// running is the error of beginning a run while another is under way; nil when none is.
func (r *Runs) running() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active == nil {
		return nil
	}
	return r.underWay()
}

func (r *Runs) underWay() error {
	return fmt.Errorf("%w: %q, with the ID %s; stop it first", ErrRunning, r.active.name, r.active.id)
}

// find is the run with an ID, and its report if it has ended; nil for none.
func (r *Runs) find(id string) (*run, *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(one *run) bool { return one.id == id })
	if i < 0 {
		return nil, nil
	}
	return r.all[i], r.all[i].report
}

// End ends a run and reports it. Its results are as those of Report, but nil for the
// report when the run had ended before.
func (r *Runs) End(id string) (report *Report, found bool) {
	one, ended := r.find(id)
	if one == nil || ended != nil {
		return nil, one != nil
	}
	last, now := r.sampler.Now(false), r.setting()
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.report == nil {
		report = one.finish(last, now)
		r.active = nil
	}
	return report, true
}

// Report is that of a run, as of now while it is under way; nil when there is none.
func (r *Runs) Report(id string) *Report {
	one, report := r.find(id)
	if one == nil || report != nil {
		return report
	}
	last, now := r.sampler.Read(), r.setting() // not taken: who looks often would have samples of no time
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.report != nil { // it ended meanwhile
		return one.report
	}
	return one.reportAt(&last, now)
}

// setting is what a report needs beside its run.
func (r *Runs) setting() setting {
	v, _ := r.sampler.Current()
	return setting{program: r.program, spec: r.server.Spec().Fingerprint(), misses: r.server.Unmatched(), unknown: v.Unknown}
}

// Remove forgets a run. It reports whether there was such a run; the error is ErrRunning
// when it has not ended.
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
