package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"strconv"

	"mockserver/listener/control/fleet"
)

// fleetPath is the prefix of the paths of requests about all replicas.
const fleetPath = "/__admin/fleet"

// join asks the other replicas for a changed specification before requests are accepted, and again
// from time to time, in case a change was missed.
func (a *Admin) join() {
	if a.fleet == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.fleetEnds = cancel
	a.fleetEnded.Go(func() {
		a.catchUp(ctx)
		a.requested.Store(true)
		a.fleet.Watch(ctx, a.catchUp)
	})
}

// leave stops the goroutine that join has started, and closes the fleet.
func (a *Admin) leave() {
	if a.fleetEnds != nil {
		a.fleetEnds()
		a.fleetEnded.Wait()
		a.fleet.Close()
	}
}

// catchUp serves the newest change that another replica serves and this one has missed.
func (a *Admin) catchUp(ctx context.Context) {
	last := uint64(0)
	if g := a.given.Load(); g != nil {
		last = g.Number
	}
	change, err := a.fleet.Newest(ctx, last)
	if err == nil && change != nil {
		spec := a.parse("spec", change.Media, change.Text)
		if err = a.check(spec).Err(); err == nil {
			err = a.take(*change, spec)
		}
		if err == nil {
			a.log.Info("specification taken over from another replica", "endpoints", len(spec.Endpoints), "lasts", untilReload)
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errOvertaken) {
		a.log.Warn("a changed specification cannot be taken over from another replica", "error", err.Error())
	}
}

// ofFleet wraps a handler: requests are refused if there is no fleet.
func (a *Admin) ofFleet(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if a.fleet == nil {
			refuse(w, http.StatusNotFound, "no_fleet", "No fleet", "the server was started without --fleet")
			return
		}
		next(w, r)
	}
}

// showReplica returns the state of this replica. It needs no fleet, so that a command can
// coordinate servers that know nothing of each other.
func (a *Admin) showReplica(w http.ResponseWriter, _ *http.Request) {
	v := a.sampler.Current()
	run, _ := a.runs.Active()
	one := fleet.Replica{
		Instance: a.instance, Version: a.opts.Build.Version, CPUs: runtime.NumCPU(), CPULimit: a.sampler.CPULimit(), Fingerprint: a.runs.Fingerprint(),
		Trusted: v.Trusted, Reasons: v.Codes(), Since: a.begun.UTC(), Run: run, Why: a.unready(),
	}
	one.Ready = one.Why == ""
	if g := a.given.Load(); g != nil {
		one.LastChange, one.InForce = g.Number, g.spec == a.server.Spec()
	}
	respond(w, http.StatusOK, one)
}

// showChange returns the specification that all replicas were given last, as it was sent.
func (a *Admin) showChange(w http.ResponseWriter, _ *http.Request) {
	g := a.given.Load()
	if g == nil || g.spec != a.server.Spec() {
		refuse(w, http.StatusNotFound, "no_change", "No change", "the configuration that is served was not set by PUT /__admin/fleet/spec")
		return
	}
	w.Header().Set("Content-Type", g.Media)
	w.Header().Set(fleet.ChangeHeader, strconv.FormatUint(g.Number, 10))
	_, _ = w.Write(g.Text) // an error means that the client has left
}

// notReplaced is the response to a change that was not made on any replica.
type notReplaced struct {
	failure

	Replicas []fleet.Outcome `json:"replicas" doc:"replicas that refused the change or did not answer"`
}

// replaceEverywhere makes all replicas serve the specification in the body of a request, unless a
// replica refuses it or does not answer when it is asked to check it.
func (a *Admin) replaceEverywhere(w http.ResponseWriter, r *http.Request) {
	media, text, ok := readText(w, r)
	if !ok {
		return
	}
	done, refused := a.fleet.Replace(context.WithoutCancel(r.Context()), media, text)
	switch {
	case refused != nil:
		no := notReplaced{failure: failureIn(refused), Replicas: done.Replicas}
		respond(w, http.StatusUnprocessableEntity, no)
	case done.Change == 0:
		respond(w, http.StatusConflict, notReplaced{failure{"Not changed", "replica_silent", "a replica does not answer, so no replica was changed", nil}, done.Replicas})
	default:
		a.log.Info("specification replaced on all replicas by the admin address", "change", done.Change, "agreed", done.Agreed)
		respond(w, http.StatusOK, done)
	}
}

// failureIn returns the error response of a replica, with its address.
func failureIn(r *fleet.Reply) failure {
	var f failure
	if json.Unmarshal(r.Body, &f) != nil || f.Code == "" {
		f = failure{Title: "Refused", Code: "replica_refused"}
	}
	f.Message = r.Address + ": " + r.Err.Error()
	return f
}
