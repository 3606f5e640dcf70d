package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"mockserver/listener/control/fleet"
)

// here reports whether no other replica is to be asked.
func here(r *http.Request) bool { return r.URL.Query().Get("here") == "true" }

// listFleetRuns returns the runs of the fleet, the newest first.
func (a *Admin) listFleetRuns(w http.ResponseWriter, r *http.Request) {
	if here(r) {
		respond(w, http.StatusOK, fleet.RunList{Runs: a.fleet.Here(a.runs.List()), Silent: []fleet.Silent{}})
		return
	}
	respond(w, http.StatusOK, a.fleet.List(r.Context()))
}

// newFleetRun is the body of a request that begins a run on all replicas.
type newFleetRun fleet.Beginning

// notAgreed is the response to a run that cannot begin on all replicas.
type notAgreed struct {
	failure

	Fleet *fleet.Overview `json:"fleet,omitempty" doc:"the replicas, if they do not agree"`
}

// startFleetRun begins a run on all replicas.
func (a *Admin) startFleetRun(w http.ResponseWriter, r *http.Request) {
	var body newFleetRun
	if r.ContentLength != 0 && !read(w, r, &body) {
		return
	}
	if _, problem := body.Check(); problem != "" {
		badBody(w, problem)
		return
	}
	run, err := a.fleet.Begin(context.WithoutCancel(r.Context()), fleet.Beginning(body))
	var split *fleet.NotAgreed
	switch {
	case errors.As(err, &split):
		respond(w, http.StatusConflict, notAgreed{failure{"Not agreed", "not_agreed", err.Error(), nil}, &split.Overview})
	case err != nil:
		respond(w, http.StatusConflict, notAgreed{failure{"Run not started", "not_begun", "the run was not started on any replica: " + err.Error(), nil}, nil})
	default:
		a.log.Info("run started on all replicas", "run", run.ID, "name", run.Name)
		w.Header().Set("Location", "/__admin/fleet/runs/"+run.ID)
		respond(w, http.StatusCreated, run.Entry())
	}
}

// fleetRun returns the run of a request. It returns nil if the request has been answered: there is
// no such run, or another replica coordinates it and has answered.
func (a *Admin) fleetRun(w http.ResponseWriter, r *http.Request) *fleet.Run {
	id := r.PathValue("id")
	run, elsewhere := a.fleet.Find(r.Context(), id, here(r))
	switch {
	case run != nil:
		return run
	case elsewhere == "":
		refuse(w, http.StatusNotFound, "run_not_found", "No such run", "no replica knows run "+strconv.Quote(id))
		return nil
	}
	query := r.URL.Query()
	query.Set("here", "true")
	reply := a.fleet.Forward(context.WithoutCancel(r.Context()), elsewhere, r.Method, r.URL.EscapedPath()+"?"+query.Encode())
	if reply.Status == 0 {
		refuse(w, http.StatusBadGateway, "replica_silent", "Replica unavailable", "the replica that coordinates the run, "+elsewhere+", does not answer: "+reply.Err.Error())
		return nil
	}
	for _, name := range []string{"Content-Type", "Content-Security-Policy"} {
		if value := reply.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body) // an error means that the client has left
	return nil
}

// showFleetRun returns the report of a run of all replicas.
func (a *Admin) showFleetRun(w http.ResponseWriter, r *http.Request) {
	if run := a.fleetRun(w, r); run != nil {
		respond(w, http.StatusOK, run.Report(r.Context()))
	}
}

// showFleetReport returns the report of a run of all replicas as a page.
func (a *Admin) showFleetReport(w http.ResponseWriter, r *http.Request) {
	if run := a.fleetRun(w, r); run != nil {
		a.sendPage(w, run.Report(r.Context()).Page)
	}
}

// stopFleetRun ends a run on all replicas and returns its report.
func (a *Admin) stopFleetRun(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, smallBody)) // the body is ignored
	run := a.fleetRun(w, r)
	if run == nil {
		return
	}
	if a.fleet.IsOver(r.Context(), run) {
		refuse(w, http.StatusConflict, "run_ended", "Run ended", "the run has already ended")
		return
	}
	report := a.fleet.Stop(context.WithoutCancel(r.Context()), run)
	a.log.Info("run stopped on all replicas", "run", report.ID, "name", report.Name, "requests", report.Total.Requests, "timing_trusted", report.Verdict.Trusted)
	respond(w, http.StatusOK, report)
}

// removeFleetRun forgets a run that has ended, on all replicas.
func (a *Admin) removeFleetRun(w http.ResponseWriter, r *http.Request) {
	run := a.fleetRun(w, r)
	switch {
	case run == nil:
	case run.Report(r.Context()).End == nil:
		refuse(w, http.StatusConflict, "run_under_way", "Run under way", "the run has not ended; stop it first")
	default:
		if silent := a.fleet.Remove(r.Context(), run); len(silent) > 0 {
			refuse(w, http.StatusConflict, "replica_silent", "Replica unavailable", silent[0].Address+" has not deleted the run: "+silent[0].Why)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}
