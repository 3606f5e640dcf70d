package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mockserver/listener/control/runs"
	"mockserver/listener/observe/arrivals"
)

const (
	// readEvery is how often the totals of each replica are read. A replica that dies loses at most
	// the requests that it counted since the last reading.
	readEvery = time.Second
	// endWithin is how long ending a run is retried on a replica that cannot be reached.
	endWithin = 5 * time.Second
	// early is how much earlier than the other replicas a replica may have ended a run without
	// counting as lost.
	early = 2 * time.Second
)

// Run is a run of all replicas, as seen by its coordinator.
type Run struct {
	ID, Name string

	fleet   *Fleet
	begin   time.Time
	settle  time.Duration // how long after the end replicas wait for webhooks; 0 if it is not known
	member  runs.Membership
	cancel  context.CancelFunc
	reading sync.WaitGroup
	ending  sync.Mutex // held while the run is ended

	mu     sync.Mutex // guards the fields below, and those of parts
	parts  []*part
	joined []string
	report *runs.Report // nil before the end
}

// part is one replica in a run.
type part struct {
	runs.Part
	instance string       // "" if it is not known
	points   []runs.Point // so far
	gone     bool         // the replica no longer knows the run
	failed   error        // error of the last request
}

// Beginning says how a run begins.
type Beginning struct {
	runs.Asked
	Force bool `json:"force,omitempty" doc:"true begins the run on the replicas that are ready, even if not all agree"`
}

// NotAgreed is the error of a run that does not begin because the replicas do not agree.
type NotAgreed struct{ Overview Overview }

// Error says why the replicas do not agree.
func (e *NotAgreed) Error() string {
	if all := e.Overview.Replicas; len(all) == 1 && e.Overview.Expected < 2 {
		text := strings.Join(e.Overview.Why, "; ")
		if all[0].Silent != "" {
			text += "; expected the admin address of a server, as in mockserver api.yml --admin " + all[0].Address +
				", or the file for a server that run starts: mockserver run api.yml -- COMMAND"
		}
		return text
	}
	return "the replicas do not agree: " + strings.Join(e.Overview.Why, "; ")
}

// Begin begins a run on all replicas that are ready, or on none. The error is a *NotAgreed if the
// replicas do not agree, unless b.Force is set, or if none is ready. Otherwise it names the
// replicas that did not begin.
func (f *Fleet) Begin(ctx context.Context, b Beginning) (*Run, error) {
	state := f.Look(ctx)
	settle, _ := b.Check()
	r := &Run{settle: settle, ID: "r" + strings.ToLower(rand.Text()[:8]), Name: b.Name, fleet: f, member: runs.Membership{Replicas: []string{}}}
	for _, m := range state.Replicas {
		if m.Self {
			r.member.Coordinator = m.Address
		}
		if m.Silent == "" && m.Ready {
			r.member.Replicas = append(r.member.Replicas, m.Address)
			r.parts = append(r.parts, &part{Part: runs.Part{Address: m.Address}, instance: m.Instance})
		}
	}
	if !state.Agreed && !b.Force || len(r.parts) == 0 {
		return nil, &NotAgreed{state}
	}
	if r.Name == "" {
		r.Name = "run " + r.ID
	}
	r.begin = time.Now()
	if s := b.Schedule; s != nil {
		b.Schedule = &arrivals.NewSchedule{Rate: s.Rate / float64(len(r.parts)), Process: s.Process}
		if b.Schedule.Rate < arrivals.LowestRate {
			return nil, fmt.Errorf("a rate of %v requests a second is %.3g for each of %d replicas; expected at least %d for each", s.Rate, b.Schedule.Rate, len(r.parts), arrivals.LowestRate)
		}
	}
	body, err := json.Marshal(map[string]any{"id": r.ID, "name": r.Name, "fleet": r.member, "settle": b.Settle, "schedule": b.Schedule})
	if err != nil {
		return nil, err
	}
	var failed []error
	for i, reply := range f.Ask(ctx, r.member.Replicas, Question{Method: http.MethodPost, Path: "/__admin/runs", Media: "application/json", Body: body}) {
		var entry runs.RunEntry
		if err := reply.into(&entry); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", reply.Address, err))
			continue
		}
		half := reply.Got.Sub(reply.Sent) / 2
		r.parts[i].Skew, r.parts[i].SkewError = entry.Begin.Sub(reply.Sent.Add(half)), half
	}
	if b.Reset && len(failed) == 0 { // not before the run has begun on all: rows that are dropped do not come back
		for _, reply := range f.Ask(ctx, r.member.Replicas, Question{Method: http.MethodPost, Path: "/__admin/state/reset"}) {
			if reply.Err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", reply.Address, reply.Err))
			}
		}
	}
	if len(failed) > 0 {
		f.undo(r)
		return nil, errors.Join(failed...)
	}
	f.keep(r)
	r.read()
	return r, nil
}

// undo ends and forgets a run that did not begin on all replicas.
func (f *Fleet) undo(r *Run) {
	ctx := context.Background() // even if the client has left
	f.Ask(ctx, r.member.Replicas, Question{Method: http.MethodPost, Path: "/__admin/runs/" + r.ID + "/stop", Within: briefly})
	f.Ask(ctx, r.member.Replicas, Question{Method: http.MethodDelete, Path: "/__admin/runs/" + r.ID, Within: briefly})
}

// keep adds a run to those that this process coordinates. Beyond runsKept, the oldest runs that
// have ended are dropped.
func (f *Fleet) keep(r *Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, r)
	for i := 0; i < len(f.runs) && len(f.runs) > runsKept; {
		if f.runs[i].ended() == nil {
			i++
			continue
		}
		f.runs = slices.Delete(f.runs, i, i+1)
	}
}

// ended returns the report of a run that has ended, otherwise nil.
func (r *Run) ended() *runs.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report
}

// read reads the totals of each replica once a second, and looks for new replicas, until the run
// ends. Each replica has its own goroutine, so that no other replica waits for a slow one.
func (r *Run) read() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	for _, p := range r.parts {
		r.reading.Go(func() {
			every(ctx, readEvery, func(ctx context.Context) { r.totals(ctx, p, briefly) })
		})
	}
	r.reading.Go(func() { every(ctx, lookEvery, r.compare) })
}

// leave stops the reading.
func (r *Run) leave() {
	if r.cancel != nil {
		r.cancel()
	}
	r.reading.Wait()
}

// totals reads the totals of one replica.
func (r *Run) totals(ctx context.Context, p *part, within time.Duration) {
	r.mu.Lock()
	after := 0.0
	if n := len(p.points); n > 0 {
		after = p.points[n-1].At
	}
	r.mu.Unlock()
	reply := r.fleet.client.ask(ctx, p.Address, Question{
		Method: http.MethodGet, Path: "/__admin/runs/" + r.ID + "/totals?after=" + strconv.FormatFloat(after, 'f', -1, 64), Within: within,
	})
	var t runs.Totals
	err := reply.into(&t)
	if err == nil && t.ID != r.ID {
		err = errors.New("it answered with another run")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.failed = err
	if err != nil {
		p.gone = p.gone || refusedAs(err, "run_not_found")
		return
	}
	if p.Totals != nil && t.Sample.Seconds < p.Totals.Sample.Seconds {
		return // another request overtook this one
	}
	p.points = runs.Follow(p.points, t.Timeline)
	t.Timeline = p.points
	p.Totals = &t
	p.Changed = p.Changed || t.Configuration.Changed
}

// compare looks for replicas that were added, and for those that were restarted.
func (r *Run) compare(ctx context.Context) {
	state := r.fleet.Look(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range state.Replicas {
		if m.Silent != "" || slices.ContainsFunc(r.parts, func(p *part) bool { return p.instance == m.Instance }) {
			continue
		}
		if i := slices.IndexFunc(r.parts, func(p *part) bool { return p.Address == m.Address }); i >= 0 {
			r.parts[i].gone = r.parts[i].gone || r.parts[i].instance != ""
		} else if !slices.Contains(r.joined, m.Address) {
			r.joined = append(r.joined, m.Address)
		}
	}
}

// End ends the run on all replicas and returns its report. It returns the same report when it is
// called again.
func (r *Run) End(ctx context.Context) *runs.Report {
	r.ending.Lock()
	defer r.ending.Unlock()
	if report := r.ended(); report != nil {
		return report
	}
	r.leave()
	r.compare(ctx)
	now := time.Now()
	atOnce(r.parts, func(_ int, p *part) { r.endOn(ctx, p, now) })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conclude(now)
}

// conclude makes the report of a run that has ended. The parts are kept until it is final, because
// webhooks may end later. The caller holds r.mu.
func (r *Run) conclude(end time.Time) *runs.Report {
	if r.report = r.merged(&end); r.report.Final {
		r.parts = nil
	}
	return r.report
}

// endOn ends the run on one replica, and reads its last totals.
func (r *Run) endOn(ctx context.Context, p *part, now time.Time) {
	within, stopped := patiently, r.stopOn(ctx, p.Address)
	if !stopped {
		within = briefly
	}
	r.totals(ctx, p, within)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.gone:
		p.Lost = restarted
	case p.failed != nil && stopped: // it is asked again, as long as the report is not final
	case p.failed != nil:
		p.Lost = p.failed.Error()
	case p.Totals.End == nil:
		p.Lost = "its run could not be ended"
	case now.Sub(r.begin)-time.Duration(p.Totals.Sample.Seconds*float64(time.Second)) > early:
		p.Lost = "its run was ended before the others, by another request"
	}
}

// stopOn ends the run on one replica, and reports whether the replica answered. It retries while
// the replica cannot be reached.
func (r *Run) stopOn(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	for {
		reply := r.fleet.client.ask(ctx, address, Question{Method: http.MethodPost, Path: "/__admin/runs/" + r.ID + "/stop", Within: endWithin})
		if reply.Status != 0 {
			return true
		}
		select {
		case <-time.After(readEvery / 4):
		case <-ctx.Done():
			return false
		}
	}
}

// Report returns the report of the run. While the run is under way, it shows the current state.
func (r *Run) Report(ctx context.Context) *runs.Report {
	r.mu.Lock()
	parts := slices.Clone(r.parts) // nil once the report is final
	r.mu.Unlock()
	atOnce(parts, func(_ int, p *part) { r.totals(ctx, p, briefly) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report != nil && (r.report.Final || len(parts) == 0) {
		return r.report
	}
	if r.report != nil {
		return r.conclude(*r.report.End)
	}
	var end *time.Time
	running := false
	for _, p := range r.parts {
		if p.Lost = ""; p.gone {
			p.Lost = restarted
		} else if p.failed != nil {
			p.Lost = p.failed.Error()
		}
		switch t := p.Totals; {
		case t == nil:
		case t.End == nil:
			running = true
		case end == nil || t.End.After(*end):
			end = t.End
		}
	}
	if running {
		end = nil
	}
	return r.merged(end)
}

// restarted is the reason given when a replica is lost because it no longer knows the run.
const restarted = "it was restarted"

// merged merges everything known about all replicas. The caller holds r.mu.
func (r *Run) merged(end *time.Time) *runs.Report {
	m := runs.Fleet{ID: r.ID, Name: r.Name, Begin: r.begin, End: end, Now: time.Now(), Joined: r.joined}
	if end != nil {
		utc := end.UTC()
		m.End, m.Now = &utc, utc
	}
	m.Final = end != nil
	over := m.Final && time.Since(*end) > r.settle+patiently // a replica that does not answer then is not waited for
	for _, p := range r.parts {
		if over && p.failed != nil && p.Lost == "" {
			p.Lost = p.failed.Error()
		}
		m.Parts = append(m.Parts, p.Part)
		m.Final = m.Final && (p.Lost != "" || p.gone || p.Totals != nil && p.Totals.Final || p.Totals == nil && p.failed == nil)
	}
	return m.Report()
}

// Entry returns the entry of the run in a list of runs.
func (r *Run) Entry() runs.RunEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report != nil {
		e := r.report.Entry()
		e.Fleet = &r.member
		return e
	}
	e := runs.RunEntry{ID: r.ID, Name: r.Name, Running: true, Begin: r.begin.UTC(), Seconds: time.Since(r.begin).Seconds(), Fleet: &r.member}
	for _, p := range r.parts {
		if p.Totals != nil {
			e.Requests += p.Totals.Sample.Requests
		}
	}
	e.Rate = float64(e.Requests) / e.Seconds
	return e
}
