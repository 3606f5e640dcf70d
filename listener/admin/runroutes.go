package admin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mockserver/listener/record"
)

// showVerdict answers the verdict on the last seconds.
func (a *Admin) showVerdict(w http.ResponseWriter, _ *http.Request) {
	v, _ := a.sampler.current()
	answer(w, http.StatusOK, v)
}

// shownSamples is what the verdict looks at.
type shownSamples struct {
	Samples   []Sample `json:"samples" doc:"one a second, the oldest first"`
	Window    Sample   `json:"window" doc:"the ten seconds of the verdict as one"`
	Endpoints []busy   `json:"endpoints" doc:"the busiest endpoints of each second"`
}

// showSamples answers the last samples, the window of the verdict as one, and the
// busiest endpoints second by second. ?last=N is how many at most, 300 by default and
// 3600 at most; ?after=TIME leaves those out that are not later.
func (a *Admin) showSamples(w http.ResponseWriter, r *http.Request) {
	last, after := busiestKept, time.Time{}
	var err error
	if text := r.URL.Query().Get("last"); text != "" {
		if last, err = strconv.Atoi(text); err != nil || last < 1 || last > samplesKept {
			badQuery(w, fmt.Sprintf("last is %q; a number from 1 to %d is accepted", text, samplesKept))
			return
		}
	}
	if text := r.URL.Query().Get("after"); text != "" {
		if after, err = time.Parse(time.RFC3339Nano, text); err != nil {
			badQuery(w, fmt.Sprintf("after is %q; a time such as 2026-01-02T15:04:05Z is accepted", text))
			return
		}
	}
	samples, endpoints := a.sampler.latest(last, after)
	_, window := a.sampler.current()
	answer(w, http.StatusOK, shownSamples{samples, window, endpoints})
}

// shownRuns are the runs that are kept.
type shownRuns struct {
	Runs []RunEntry `json:"runs" doc:"the newest first"`
	Most int        `json:"most" doc:"how many are kept"`
}

// listRuns answers the runs that are kept, the newest first. ?limit=N is how many at most.
func (a *Admin) listRuns(w http.ResponseWriter, r *http.Request) {
	limit := runsKept
	if text := r.URL.Query().Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > runsKept {
			badQuery(w, fmt.Sprintf("limit is %q; a number from 1 to %d is accepted", text, runsKept))
			return
		}
	}
	runs := a.sampler.entries()
	answer(w, http.StatusOK, shownRuns{runs[:min(limit, len(runs))], runsKept})
}

// newRun is what a request may say of the run that it begins.
type newRun struct {
	Name string `json:"name,omitempty" doc:"of the run, at most 100 characters"`
}

var errRunning = errors.New("another run is under way")

// startRun begins a run: {"name": "…"}, or without a body.
func (a *Admin) startRun(w http.ResponseWriter, r *http.Request) {
	var asked newRun
	if r.ContentLength != 0 && !read(w, r, &asked) {
		return
	}
	asked.Name = strings.TrimSpace(asked.Name)
	if utf8.RuneCountInString(asked.Name) > nameLength || strings.ContainsFunc(asked.Name, unicode.IsControl) {
		refuse(w, http.StatusBadRequest, "invalid_body", "Invalid body", fmt.Sprintf("name is longer than %d characters, or holds control characters", nameLength))
		return
	}
	entry, err := a.sampler.begin(asked.Name, a.server.Unmatched(), fingerprint(a.server.Spec()))
	if err != nil {
		refuse(w, http.StatusConflict, "run_under_way", "Run under way", err.Error())
		return
	}
	a.log.Info("run started", "run", entry.ID, "name", entry.Name)
	w.Header().Set("Location", "/__admin/runs/"+entry.ID)
	answer(w, http.StatusCreated, entry)
}

// stopRun ends a run, and answers its report.
func (a *Admin) stopRun(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, smallBody)) // what it may bring means nothing
	report, found := a.sampler.end(r.PathValue("id"), a.made())
	switch {
	case !found:
		a.noRun(w, r.PathValue("id"))
	case report == nil:
		refuse(w, http.StatusConflict, "run_ended", "Run ended", "the run has ended already")
	default:
		a.log.Info("run stopped", "run", report.ID, "name", report.Name, "requests", report.Total.Requests, "timing_trusted", report.Verdict.Trusted)
		answer(w, http.StatusOK, report)
	}
}

// removeRun forgets a run that has ended.
func (a *Admin) removeRun(w http.ResponseWriter, r *http.Request) {
	switch found, err := a.sampler.remove(r.PathValue("id")); {
	case !found:
		a.noRun(w, r.PathValue("id"))
	case err != nil:
		refuse(w, http.StatusConflict, "run_under_way", "Run under way", "the run has not ended: stop it first")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// showRun answers the report of a run as JSON; of one that is under way as of now.
func (a *Admin) showRun(w http.ResponseWriter, r *http.Request) {
	if report := a.report(w, r.PathValue("id")); report != nil {
		answer(w, http.StatusOK, report)
	}
}

// showReport answers the report of a run as a page.
func (a *Admin) showReport(w http.ResponseWriter, r *http.Request) {
	if report := a.report(w, r.PathValue("id")); report != nil {
		a.sendPage(w, report.html)
	}
}

// compareRuns answers two runs, ?a=ID&b=ID, beside each other: as JSON, or with
// ?format=html as a page.
func (a *Admin) compareRuns(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	format := query.Get("format")
	if format != "" && format != "json" && format != "html" {
		badQuery(w, fmt.Sprintf("format is %q; json and html are accepted", format))
		return
	}
	for _, side := range [...]string{"a", "b"} {
		if query.Get(side) == "" {
			badQuery(w, side+" is missing; the ID of a run is accepted: ?a=1&b=2")
			return
		}
	}
	first := a.report(w, query.Get("a"))
	if first == nil {
		return
	}
	second := a.report(w, query.Get("b"))
	if second == nil {
		return
	}
	comparison := compare(first, second)
	if format == "html" {
		a.sendPage(w, comparison.html)
		return
	}
	answer(w, http.StatusOK, comparison)
}

// report is that of a run; one that there is not is answered, and nil.
func (a *Admin) report(w http.ResponseWriter, id string) *Report {
	report := a.sampler.report(id, a.made())
	if report == nil {
		a.noRun(w, id)
	}
	return report
}

func (a *Admin) noRun(w http.ResponseWriter, id string) {
	refuse(w, http.StatusNotFound, "run_not_found", "No such run", fmt.Sprintf("there is no run %q; the last %d are kept, for as long as the server runs", id, runsKept))
}

// made is what a report needs beside its run.
func (a *Admin) made() func() made {
	return func() made {
		return made{
			program: Program{Version: a.opts.Build.Version, Commit: a.opts.Build.Commit, Go: runtime.Version()},
			spec:    fingerprint(a.server.Spec()), misses: a.server.Unmatched(),
		}
	}
}

// sendPage answers a page that needs nothing else.
func (a *Admin) sendPage(w http.ResponseWriter, page func() ([]byte, error)) {
	text, err := page()
	if err != nil { // a defect: the templates are tested
		a.log.Error("cannot make the page of a run", "error", err.Error())
		refuse(w, http.StatusInternalServerError, "internal", "Internal error", "the page cannot be made")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", reportPolicy)
	_, _ = w.Write(text) // a client that has left misses nothing
}

// entries are the runs that are kept, the newest first, as of the reading that was taken
// last: of an earlier one a run that began meanwhile would have had less than nothing.
func (s *sampler) entries() []RunEntry {
	list := []RunEntry{}
	s.withRuns(func(r *runs) {
		for i := len(r.all) - 1; i >= 0; i-- {
			list = append(list, r.all[i].entry(&s.last))
		}
	})
	return list
}

// withRuns looks at the runs.
func (s *sampler) withRuns(look func(*runs)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(s.runs)
}

// begin begins a run, unless another is under way.
func (s *sampler) begin(name string, misses []record.Miss, spec string) (entry RunEntry, err error) {
	under := func(r *runs) {
		if r.active != nil {
			err = fmt.Errorf("%w: %q, with the ID %s; stop it first", errRunning, r.active.name, r.active.id)
		}
	}
	if s.withRuns(under); err != nil {
		return entry, err
	}
	first := s.now(true)
	s.withRuns(func(r *runs) {
		if under(r); err == nil { // nobody was quicker
			entry = r.begin(name, first, misses, spec).entry(first)
		}
	})
	return entry, err
}

// end ends a run. It tells whether there is such a run; there is no report when it had
// ended before.
func (s *sampler) end(id string, with func() made) (report *Report, found bool) {
	s.withRuns(func(r *runs) {
		one := r.find(id)
		found = one != nil && one.report == nil
	})
	if found {
		last, m := s.now(false), with()
		s.withRuns(func(r *runs) {
			if one := r.find(id); one != nil && one.report == nil {
				m.unknown = s.verdict.Unknown
				report = one.finish(last, m)
				r.active = nil
			}
		})
		return report, true
	}
	s.withRuns(func(r *runs) { found = r.find(id) != nil })
	return nil, found
}

// finish makes the report of a run that ends, and lets go of what only that needed.
func (r *run) finish(last *reading, m made) *Report {
	r.report = r.reportAt(last, m)
	end := last.time.UTC()
	r.report.Running, r.report.End = false, &end
	r.first, r.points, r.misses, r.held, r.changes = nil, nil, nil, nil, nil
	return r.report
}

// report is that of a run, as of now while it is under way; nil when there is none.
func (s *sampler) report(id string, with func() made) (report *Report) {
	running := false
	s.withRuns(func(r *runs) {
		if one := r.find(id); one != nil {
			report, running = one.report, one.report == nil
		}
	})
	if !running {
		return report
	}
	last, m := s.read(), with() // not taken: who looks often would have samples of no time
	s.withRuns(func(r *runs) {
		switch one := r.find(id); {
		case one == nil:
		case one.report != nil: // it ended meanwhile
			report = one.report
		default:
			m.unknown = s.verdict.Unknown
			report = one.reportAt(&last, m)
		}
	})
	return report
}

// remove forgets a run. It tells whether there was such a run; the error is errRunning.
func (s *sampler) remove(id string) (found bool, err error) {
	s.withRuns(func(r *runs) {
		one := r.find(id)
		if found = one != nil; !found {
			return
		}
		if one.report == nil {
			err = errRunning
			return
		}
		r.remove(one)
	})
	return found, err
}
