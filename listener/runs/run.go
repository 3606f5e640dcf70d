package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/listener/record"
	"mockserver/listener/verdict"
)

const (
	// Kept is how many runs are kept; a new one replaces the oldest. A report takes at most 800 KB,
	// so all of them take at most 40 MB.
	Kept = 50
	// pointsKept is the maximum number of points in a report. In a run of more seconds, each point
	// covers two seconds, four seconds, and so on.
	pointsKept = 1200
	// endpointsReported is how many endpoints, the busiest ones, a report contains.
	// unmatchedReported is how many unmatched requests, the most frequent ones, it contains.
	endpointsReported = 500
	unmatchedReported = 100
	// rareShare is the share of a run in which a problem that is counted may occur while the run is
	// still trusted: a single connection dropped during a night is reported, but is not decisive.
	rareShare = 0.01
	// totalsKept is how many runs of a fleet keep their totals after the end, for coordinators.
	totalsKept = 3
	// NameLength is the maximum number of characters in the name of a run.
	NameLength = 100
)

// run is one named period of time.
type run struct {
	id, name string
	begin    time.Time
	first    *verdict.Reading     // nil after the end
	misses   map[missKind]uint64  // how often each unmatched request had been received before the run
	points   []Point              // see put
	each     float64              // seconds that a point covers
	held     map[string]*RunCause // reasons, keyed by code
	explain  map[string]*RunCause // explanations, keyed by code
	bad      float64              // seconds that were not trusted
	judged   float64              // seconds that were judged
	changes  []Change
	spec     string // fingerprint of the specification at the beginning
	fleet    *Membership

	report *Report // nil before the end
	totals *Totals // of a run of a fleet that has ended; else nil
}

// missKind identifies unmatched requests of the same kind.
type missKind struct{ method, host, path string }

// Change is a time at which the verdict changed.
type Change struct {
	At      float64  `json:"at" doc:"second of the run"`
	Trusted bool     `json:"trusted" doc:"from then on"`
	Reasons []string `json:"reasons" doc:"codes of the reasons from then on"`
	Replica string   `json:"replica,omitempty" doc:"whose verdict it was, in a run of a fleet"`
}

// changesKept is how many changes of a run are kept, the first ones.
const changesKept = 200

// RunCause is a reason that held in a run, or an explanation.
type RunCause struct {
	Code      string  `json:"code" doc:"of the reason"`
	Text      string  `json:"text" doc:"in words, with the worst figure"`
	Number    float64 `json:"number" doc:"the worst figure"`
	Threshold float64 `json:"threshold" doc:"that the figure is above"`
	Unit      string  `json:"unit" doc:"of both: ms, share (0 to 1), count or ratio"`
	Seconds   float64 `json:"seconds" doc:"for how long it held"`
	Replica   string  `json:"replica,omitempty" doc:"address of the replica that it is about, in a run of a fleet"`
}

func newRun(b Beginning, first *verdict.Reading, misses []record.Miss, spec string) *run {
	r := &run{
		id: b.ID, name: b.Name, fleet: b.Fleet, begin: first.Time, first: first, spec: spec, each: verdict.Every.Seconds(),
		misses: map[missKind]uint64{}, held: map[string]*RunCause{}, explain: map[string]*RunCause{},
	}
	if b.Name == "" {
		r.name = "run " + b.ID
	}
	for _, m := range misses {
		r.misses[kindOf(m)] = m.Count
	}
	return r
}

func kindOf(m record.Miss) missKind { return missKind{m.Method, m.Host, m.Path} }

// sampled adds a sample and the verdict that follows from it.
func (r *run) sampled(s verdict.Sample, v verdict.Verdict) {
	at := s.Time.Sub(r.begin).Seconds()
	r.points, r.each = put(r.points, r.each, pointOf(&s, at, v.Trusted))
	r.judged += s.Seconds
	if !v.Trusted {
		r.bad += s.Seconds
	}
	codes := []string{}
	for _, reason := range v.Reasons {
		codes = append(codes, reason.Code)
		if reason.Unit == verdict.Count && !s.Over(&reason) {
			hold(r.held, reason, 0) // a counted problem lasts only a moment, no matter how long its reason was held
		} else {
			hold(r.held, reason, s.Seconds)
		}
	}
	for _, explanation := range v.Explanations {
		if !v.Trusted {
			hold(r.explain, explanation, s.Seconds)
		}
	}
	before := Change{Trusted: true}
	if len(r.changes) > 0 {
		before = r.changes[len(r.changes)-1]
	}
	if !slices.Equal(before.Reasons, codes) && len(r.changes)+len(codes) > 0 && len(r.changes) < changesKept {
		r.changes = append(r.changes, Change{At: max(at-s.Seconds, 0), Trusted: v.Trusted, Reasons: codes})
	}
}

// hold adds seconds during which a reason held.
func hold(held map[string]*RunCause, reason verdict.Reason, seconds float64) {
	c := held[reason.Code]
	if c == nil {
		c = &RunCause{Code: reason.Code, Unit: reason.Unit, Number: -1}
		held[reason.Code] = c
	}
	c.Seconds += seconds
	if reason.Number > c.Number {
		c.Text, c.Number, c.Threshold = reason.Text, reason.Number, reason.Threshold
	}
}

// RunVerdict states whether the timing of a run can be trusted. It is based on the figures of the
// whole run, so the weight of a bad second depends on the requests that it delayed.
type RunVerdict struct {
	Trusted   bool       `json:"trusted" doc:"the timing of the run as a whole can be trusted"`
	Idle      bool       `json:"idle" doc:"nothing was timed"`
	Text      string     `json:"text" doc:"the verdict in a sentence"`
	Size      string     `json:"size" doc:"how much the server added to what is declared, in words; empty if no endpoint had a request"`
	Untrusted float64    `json:"untrusted_seconds" doc:"how many seconds were not trusted"`
	Judged    float64    `json:"judged_seconds" doc:"how many seconds were looked at"`
	Decisive  []string   `json:"decisive" doc:"codes of the reasons for which the run as a whole cannot be trusted"`
	Reasons   []RunCause `json:"reasons" doc:"that held at any time, the longest first"`
	// Explanations are not reasons by themselves.
	Explanations []RunCause `json:"explanations" doc:"what may be the cause of a reason, while there was one, the longest first"`
	Changes      []Change   `json:"changes" doc:"when it changed, the first 200 times"`
	Unknown      []string   `json:"unknown" doc:"codes of reasons that the system gives no figure for"`
}

// verdict judges the run so far; whole is the verdict on its figures.
func (r *run) verdict(whole verdict.Verdict) RunVerdict {
	v := RunVerdict{
		Size: whole.Size, Untrusted: r.bad, Judged: r.judged,
		Decisive: []string{}, Reasons: causes(r.held), Explanations: causes(r.explain), Changes: append([]Change{}, r.changes...), Unknown: whole.Unknown,
	}
	for _, reason := range whole.Reasons {
		c := r.held[reason.Code]
		if reason.Unit == verdict.Count && (c == nil || c.Seconds <= rareShare*r.judged) {
			continue
		}
		v.Decisive = append(v.Decisive, reason.Code)
		if c == nil { // it did not hold in any single second
			v.Reasons = append(v.Reasons, RunCause{Code: reason.Code, Text: reason.Text, Number: reason.Number, Threshold: reason.Threshold, Unit: reason.Unit})
		}
	}
	seconds := fmt.Sprintf("%s of its %s seconds", verdict.Short(r.bad), verdict.Short(r.judged))
	switch v.Trusted = len(v.Decisive) == 0; {
	case !v.Trusted:
		v.Text = fmt.Sprintf("The timing of this run cannot be trusted: see %s. There was a reason not to in %s.", strings.Join(v.Decisive, ", "), seconds)
	case r.bad > 0:
		v.Text = fmt.Sprintf("The timing of this run can be trusted as a whole, but not in %s.", seconds)
	case whole.Idle:
		v.Idle = true
		v.Text = "Nothing was timed in this run: there was neither a request nor a webhook."
	default:
		v.Text = "The timing of this run can be trusted."
	}
	return v
}

// causes lists the causes, the longest first.
func causes(held map[string]*RunCause) []RunCause {
	all := make([]RunCause, 0, len(held))
	for _, c := range held {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b RunCause) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Code, b.Code))
	})
	return all
}

// RunEntry is the entry of a run in the list of runs.
type RunEntry struct {
	ID       string      `json:"id" doc:"of the run"`
	Name     string      `json:"name" doc:"as given, or its number"`
	Running  bool        `json:"running" doc:"it has not ended"`
	Begin    time.Time   `json:"begin" doc:"when it began"`
	End      *time.Time  `json:"end" doc:"when it ended; null while it runs"`
	Seconds  float64     `json:"seconds" doc:"its length"`
	Requests uint64      `json:"requests" doc:"in it"`
	Rate     float64     `json:"rate" doc:"requests a second"`
	Verdict  *RunVerdict `json:"verdict,omitempty" doc:"on the run; missing while it runs"`
	Fleet    *Membership `json:"fleet,omitempty" doc:"the fleet's run that it is a part of; missing for others"`
}

// entry returns the entry of a run in the list, as of the reading now.
func (r *run) entry(now *verdict.Reading) RunEntry {
	if r.report != nil {
		e := r.report.Entry()
		e.Fleet = r.fleet
		return e
	}
	e := RunEntry{ID: r.id, Name: r.name, Fleet: r.fleet, Running: true, Begin: r.begin.UTC(), Requests: now.All.Requests - r.first.All.Requests}
	if e.Seconds = now.Time.Sub(r.begin).Seconds(); e.Seconds > 0 {
		e.Rate = float64(e.Requests) / e.Seconds
	}
	return e
}

// finish makes the final report of a run, and frees the data that only the report needed.
func (r *run) finish(last *verdict.Reading, m setting) *Report {
	totals := r.totalsAt(last, m)
	end := last.Time.UTC()
	totals.Running, totals.End = false, &end
	r.report = totals.Report()
	if r.fleet != nil {
		r.totals = totals
	}
	r.first, r.points, r.misses, r.held, r.explain, r.changes = nil, nil, nil, nil, nil, nil
	return r.report
}
