package runs

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mockserver/config/item"
	"mockserver/dispatcher"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

const (
	// Kept is the number of runs that are kept; a new run replaces the oldest. A report takes at
	// most 800 KB, so all reports take at most 40 MB.
	Kept = 50
	// rareShare is the share of a run in which a problem that is counted may occur while the run is
	// still trusted: a single connection dropped in an overnight run is reported, but is not
	// decisive.
	rareShare = 0.01
	// totalsKept is how many fleet runs keep their totals after the end, for coordinators.
	totalsKept = 3
	// nameLength is the maximum number of characters in the name of a run.
	nameLength = 100
)

// run is one named period of time.
type run struct {
	id, name string
	begin    time.Time
	first    *verdict.Reading         // nil after the end
	misses   map[unmatchedKind]uint64 // how often each unmatched request had been received before the run
	points   []Point                  // see put
	blocks   blocks
	last     *verdict.Reading     // the end of the last block
	each     float64              // seconds that a point covers
	held     map[string]*RunCause // reasons, keyed by code
	explain  map[string]*RunCause // explanations, keyed by code
	bad      float64              // seconds that were not trusted
	judged   float64              // seconds that were judged
	changes  []Change
	spec     string // fingerprint of the specification at the beginning
	changed  bool   // another specification was served meanwhile
	fleet    *Membership
	webhooks *dispatcher.Counters // those that requests of the run triggered
	schedule *arrivals.Schedule
	settle   time.Duration // how long after the end they are waited for

	end    *verdict.Reading // nil before the end, and once the report is final
	ended  setting          // at the end
	report *Report          // nil before the end
	totals *Totals          // of a fleet's run that has ended; otherwise nil
}

// unmatchedKind identifies unmatched requests of the same kind.
type unmatchedKind struct{ method, host, path string }

// Beginning contains the parameters with which a run begins.
type Beginning struct {
	ID    string // "" for the next number
	Name  string // "" for a name derived from the ID
	Fleet *Membership
	// Settle is how long after its end the webhooks of the run are waited for.
	Settle time.Duration
	// Schedule is what the load generator is to do; nil if it is not known.
	Schedule *arrivals.Schedule
}

// Asked is how a run is to begin, in a request.
type Asked struct {
	Name     string                `json:"name,omitempty" doc:"name of the run, at most 100 characters"`
	Reset    bool                  `json:"reset-state,omitempty" doc:"true drops the changes to all rows first"`
	Settle   string                `json:"settle,omitempty" doc:"how long after its end the webhooks of the run are waited for, such as 2m; 30s by default, 0s for not at all"`
	Schedule *arrivals.NewSchedule `json:"schedule,omitempty" doc:"what the load generator is to do, at all replicas together: the report compares arrivals with it"`
}

// Check completes what is asked. It returns how long webhooks are waited for, and what is wrong; "" for
// nothing.
func (a *Asked) Check() (settle time.Duration, problem string) {
	a.Name = strings.TrimSpace(a.Name)
	settle, err := time.ParseDuration(cmp.Or(a.Settle, "30s"))
	switch {
	case !IsName(a.Name):
		return 0, fmt.Sprintf("name is longer than %d characters, or contains control characters", nameLength)
	case err != nil || settle < 0:
		return 0, fmt.Sprintf("settle is %q; expected a duration of 0 or more, such as 30s", a.Settle)
	}
	return settle, a.Schedule.Problem()
}

// IsName reports whether a run may have a name, or "" for none.
func IsName(name string) bool {
	return utf8.RuneCountInString(name) <= nameLength && !strings.ContainsFunc(name, unicode.IsControl)
}

func newRun(b Beginning, first *verdict.Reading, misses []record.Miss, spec string, webhooks *dispatcher.Counters) *run {
	r := &run{
		webhooks: webhooks, settle: b.Settle, schedule: b.Schedule,
		id: b.ID, name: cmp.Or(b.Name, "run "+b.ID), fleet: b.Fleet, begin: first.Time, first: first, last: first, spec: spec, each: verdict.Every.Seconds(),
		misses: map[unmatchedKind]uint64{}, held: map[string]*RunCause{}, explain: map[string]*RunCause{},
	}
	for _, m := range misses {
		r.misses[kindOf(m)] = m.Count
	}
	return r
}

func kindOf(m record.Miss) unmatchedKind { return unmatchedKind{m.Method, m.Host, m.Path} }

// setting contains what a report needs in addition to its run.
type setting struct {
	program Program
	spec    string // fingerprint of the specification that is served now
	misses  []record.Miss

	judge func(*verdict.Sample) verdict.Verdict
}

// sampled adds a sample and the verdict that follows from it.
func (r *run) sampled(s verdict.Sample, v verdict.Verdict, end *verdict.Reading) {
	r.blocks, r.last = r.blocks.put(blockOf(r.last, end, &s)), end
	at := s.Time.Sub(r.begin).Seconds()
	r.points, r.each = put(r.points, r.each, pointOf(&s, at, v.Trusted))
	r.judged += s.Seconds
	if !v.Trusted {
		r.bad += s.Seconds
	}
	codes := v.Codes()
	for _, reason := range v.Reasons {
		seconds := s.Seconds
		if reason.Unit == verdict.Count && !s.Over(&reason) {
			seconds = 0 // a counted problem lasts only a moment, no matter how long its reason was held
		}
		hold(r.held, reason, seconds)
	}
	for _, explanation := range v.Explanations {
		if !v.Trusted || verdict.IsOfGenerator(explanation.Code) {
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

// verdict judges the run so far; whole is the verdict on its figures.
func (r *run) verdict(whole verdict.Verdict) RunVerdict {
	v := RunVerdict{
		Late: whole.Late, Size: whole.Size, Added: whole.Added, Untrusted: r.bad, Judged: r.judged,
		Decisive: []string{}, Reasons: causes(r.held), Explanations: causes(r.explain), Changes: append([]Change{}, r.changes...), Unknown: whole.Unknown,
	}
	for _, reason := range whole.Reasons {
		c := r.held[reason.Code]
		if reason.Unit == verdict.Count && (c == nil || c.Seconds <= rareShare*r.judged) {
			continue
		}
		v.Decisive = append(v.Decisive, reason.Code)
		if c == nil { // the cause did not hold in any single second
			v.Reasons = append(v.Reasons, RunCause{Code: reason.Code, Text: reason.Text, Number: reason.Number, Threshold: reason.Threshold, Unit: reason.Unit})
		}
	}
	seconds := fmt.Sprintf("%s of its %s seconds", verdict.Short(r.bad), verdict.Short(r.judged))
	switch v.Trusted = len(v.Decisive) == 0; {
	case !v.Trusted:
		v.Text = fmt.Sprintf("The timing of this run cannot be trusted: see %s. There was a reason not to trust it in %s.", strings.Join(v.Decisive, ", "), seconds)
	case r.bad > 0:
		v.Text = fmt.Sprintf("The timing of this run can be trusted as a whole, but not in %s.", seconds)
	case whole.Idle:
		v.Idle = true
		v.Text = nothingTimed
	default:
		v.Text = "The timing of this run can be trusted."
	}
	return v
}

// entry returns the entry of a run in the list, as of the reading now.
func (r *run) entry(now *verdict.Reading) RunEntry {
	if r.report != nil {
		e := r.report.Entry()
		e.Fleet = r.fleet
		return e
	}
	e := RunEntry{ID: r.id, Name: r.name, Fleet: r.fleet, Running: true, Begin: r.begin.UTC(), Requests: now.All.Requests - r.first.All.Requests}
	e.Seconds = now.Time.Sub(r.begin).Seconds()
	e.Rate = verdict.PerSecond(e.Requests, e.Seconds)
	return e
}

// settled reports whether the webhooks of a run that has ended have ended too, or have had time to.
func (r *run) settled(now time.Time) bool {
	return now.Sub(r.end.Time) >= r.settle || r.webhooks.Stats().Pending == 0
}

// update makes the report of a run that has ended. If the report is final, it frees the data that
// only the report needed.
func (r *run) update(now time.Time) {
	final := r.settled(now) // before the webhooks are read
	totals := r.totalsAt(r.end, r.ended)
	end := r.end.Time.UTC()
	totals.Running, totals.End, totals.Final = false, &end, final
	for i := range totals.Endpoints {
		if e := &totals.Endpoints[i]; e.EndpointCounts.Declared != nil {
			e.Declaration = hex.EncodeToString([]byte(item.Digest(e.EndpointCounts.Declared)))
		}
	}
	r.report = totals.Report()
	if r.fleet != nil {
		r.totals = totals
	}
	if final {
		r.first, r.last, r.points, r.blocks, r.misses, r.held, r.explain, r.changes = nil, nil, nil, blocks{}, nil, nil, nil, nil
		r.end, r.ended, r.webhooks = nil, setting{}, nil
	}
}

// totalsAt returns the totals of a run up to a reading.
func (r *run) totalsAt(end *verdict.Reading, m setting) *Totals {
	sample := verdict.BetweenEndpoints(r.first, end)
	sample.Of(r.webhooks.Stats())
	times := sample.Distributions()
	dependences := r.blocks.dependences("", &times)
	sample.Depends(dependences["probe_p99"])
	t := &Totals{
		ID: r.id, Name: r.name, Running: true, Begin: r.begin.UTC(), Fleet: r.fleet,
		Verdict: r.verdict(m.judge(&sample)), Program: m.program, Machine: thisMachine(sample.CPULimit),
		Configuration: Configuration{Hash: r.spec, Changed: r.changed || r.spec != m.spec, Endpoints: len(end.Counts.Endpoints)},
		Sample:        sample.Alone(), Times: times, Dependences: dependences, Endpoints: []EndpointTotals{},
		Arrivals: ArrivalTotals{end.Counts.Arrivals.Distributions.Since(&r.first.Counts.Arrivals.Distributions), r.schedule},
		Timeline: append([]Point{}, r.points...),
		State:    setsBetween(r.first.Counts.Sets, end.Counts.Sets),
	}
	t.Arrivals.Stops = end.Stops.Since(r.first.Stops)
	for i, c := range record.Busiest(&r.first.Counts, &end.Counts, 0) {
		e := EndpointTotals{EndpointCounts: c, Declared: declaredBy(c.Declared, (*item.Endpoint).Lengths), Dependences: t.Dependences}
		e.DeclaredFirst, e.DeclaredGap = declaredBy(c.Declared, (*item.Endpoint).FirstLengths), declaredBy(c.Declared, (*item.Endpoint).GapLengths)
		if i < endpointsInBlock {
			times := verdict.TimesOf(&c)
			e.Dependences = r.blocks.dependences(c.ID, &times)
		}
		t.Endpoints = append(t.Endpoints, e)
	}
	t.Unmatched, t.OtherUnmatched = r.unmatched(m.misses)
	return t
}

// unmatched returns the unmatched requests of the run, the most frequent first.
func (r *run) unmatched(misses []record.Miss) (list []UnmatchedReport, others int) {
	list = []UnmatchedReport{}
	for _, m := range misses {
		before := r.misses[kindOf(m)]
		if m.Count < before {
			before = 0 // the count was reset in between
		}
		if n := m.Count - before; n > 0 {
			list = append(list, UnmatchedReport{m.Method, m.Host, m.Path, m.Status, n, m.Reason, m.Nearest})
		}
	}
	return mostFrequent(list)
}

// mostFrequent returns the kinds of unmatched requests that are reported, and how many more there are.
func mostFrequent(all []UnmatchedReport) (list []UnmatchedReport, others int) {
	slices.SortStableFunc(all, func(a, b UnmatchedReport) int { return cmp.Compare(b.Count, a.Count) })
	list = all[:min(len(all), unmatchedReported)]
	return list, len(all) - len(list)
}
