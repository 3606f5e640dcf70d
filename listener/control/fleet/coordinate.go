package fleet

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"mockserver/internal/list"
	"mockserver/listener/control/runs"
)

// own returns the run with the given ID, if this process coordinates it; otherwise nil.
func (f *Fleet) own(id string) *Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.runs, func(r *Run) bool { return r.ID == id }); i >= 0 {
		return f.runs[i]
	}
	return nil
}

// Here returns the entries of the runs that this process coordinates and, from parts, those of
// other fleet runs, the newest first.
func (f *Fleet) Here(parts []runs.RunEntry) []runs.RunEntry {
	f.mu.Lock()
	all := slices.Clone(f.runs)
	f.mu.Unlock()
	entries := list.Map(all, (*Run).Entry)
	for _, e := range parts {
		if e.Fleet != nil && !slices.ContainsFunc(entries, func(one runs.RunEntry) bool { return one.ID == e.ID }) {
			entries = append(entries, e)
		}
	}
	newestFirst(entries)
	return entries
}

func newestFirst(list []runs.RunEntry) {
	slices.SortStableFunc(list, func(a, b runs.RunEntry) int { return b.Begin.Compare(a.Begin) })
}

// HerePath is the path, with its query, at which the admin API returns the result of Here.
const HerePath = "/__admin/fleet/runs?here=true"

// RunList is a list of runs.
type RunList struct {
	Runs   []runs.RunEntry `json:"runs" doc:"the runs, the newest first"`
	Silent []Silent        `json:"silent" doc:"replicas that did not answer, which may know more"`
}

// foundRun is a run, or a part of one, on a replica.
type foundRun struct {
	at    string // address
	entry runs.RunEntry
}

func (f *Fleet) entries(ctx context.Context) (all []foundRun, silent []Silent) {
	replies := f.Ask(ctx, f.addresses(ctx), Question{Method: http.MethodGet, Path: HerePath, Within: briefly})
	silent = Decode(replies, func(address string, list RunList) {
		for _, e := range list.Runs {
			if e.Fleet != nil {
				all = append(all, foundRun{address, e})
			}
		}
	})
	return all, silent
}

// List returns the runs of the fleet. If the coordinator of a run does not answer, the run is added
// up from its parts, without a verdict.
func (f *Fleet) List(ctx context.Context) RunList {
	all, silent := f.entries(ctx)
	list := RunList{Runs: []runs.RunEntry{}, Silent: silent}
	coordinated := map[string]bool{}
	for _, one := range all {
		if one.at == one.entry.Fleet.Coordinator && !coordinated[one.entry.ID] {
			coordinated[one.entry.ID] = true
			list.Runs = append(list.Runs, one.entry)
		}
	}
	for _, one := range all {
		if coordinated[one.entry.ID] {
			continue
		}
		i := slices.IndexFunc(list.Runs, func(e runs.RunEntry) bool { return e.ID == one.entry.ID })
		if i < 0 {
			one.entry.Verdict = nil
			list.Runs = append(list.Runs, one.entry)
			continue
		}
		e := &list.Runs[i]
		e.Running = e.Running || one.entry.Running
		e.Requests, e.Rate = e.Requests+one.entry.Requests, e.Rate+one.entry.Rate
	}
	newestFirst(list.Runs)
	return list
}

// Find returns the run with an ID, or the address of the replica that coordinates it. If that
// replica does not answer, or the command run coordinates the run, this process takes over
// with the current totals. Both results are zero if no replica knows the run. If here is set, no
// other replica is asked.
func (f *Fleet) Find(ctx context.Context, id string, here bool) (r *Run, elsewhere string) {
	if r := f.own(id); r != nil || here {
		return r, ""
	}
	all, _ := f.entries(ctx)
	for _, one := range all {
		switch e := &one.entry; {
		case e.ID != id:
		case one.at == e.Fleet.Coordinator:
			return nil, one.at
		case r == nil:
			r = &Run{ID: id, Name: e.Name, fleet: f, begin: e.Begin, member: *e.Fleet}
			for _, address := range e.Fleet.Replicas {
				r.parts = append(r.parts, &part{Part: runs.Part{Address: address}})
			}
		case e.Begin.Before(r.begin):
			r.begin = e.Begin
		}
	}
	return r, ""
}

// Forward sends a request to the coordinator of a run.
func (f *Fleet) Forward(ctx context.Context, address, method, path string) Reply {
	return f.client.ask(ctx, address, Question{Method: method, Path: path, Within: thoroughly})
}

// IsOver reports whether a run has ended, with its report if this process coordinates it.
func (f *Fleet) IsOver(ctx context.Context, r *Run) bool {
	if f.own(r.ID) == r {
		return r.ended() != nil // its parts may have been ended by other requests
	}
	return r.Report(ctx).End != nil
}

// Stop ends a run and returns its report.
func (f *Fleet) Stop(ctx context.Context, r *Run) *runs.Report {
	report := r.End(ctx)
	if f.own(r.ID) == nil { // another process began it
		f.keep(r)
	}
	return report
}

// Remove forgets a run that has ended, on all replicas. It returns the replicas that have not
// confirmed this, with the reasons.
func (f *Fleet) Remove(ctx context.Context, r *Run) []Silent {
	f.mu.Lock()
	f.runs = slices.DeleteFunc(f.runs, func(one *Run) bool { return one.ID == r.ID })
	f.mu.Unlock()
	r.leave()
	silent := []Silent{}
	for _, reply := range f.Ask(ctx, r.member.Replicas, Question{Method: http.MethodDelete, Path: "/__admin/runs/" + r.ID}) {
		if reply.Err != nil && !refusedAs(reply.Err, "run_not_found") {
			silent = append(silent, Silent{reply.Address, reply.Err.Error()})
		}
	}
	slices.SortFunc(silent, func(a, b Silent) int { return cmp.Compare(a.Address, b.Address) })
	return silent
}
