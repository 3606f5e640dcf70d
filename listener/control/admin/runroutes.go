package admin

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"mockserver/listener/control/runs"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/verdict"
)

// shownSamples contains the figures on which the verdict is based.
type shownSamples struct {
	Samples []verdict.Sample `json:"samples" doc:"one sample a second, the oldest first"`
}

// samplesShown is how many samples are shown by default.
const samplesShown = 300

// showSamples returns the last samples. ?last=N sets how many; ?after=TIME selects only later samples.
func (a *Admin) showSamples(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	last, after := q.number("last", samplesShown, 1, verdict.SamplesKept), q.time("after", false)
	if q.refused(w) {
		return
	}
	respond(w, http.StatusOK, shownSamples{a.sampler.Latest(last, after)})
}

// shownRuns contains the runs that are kept.
type shownRuns struct {
	Runs []runs.RunEntry `json:"runs" doc:"the runs, the newest first"`
	Most int             `json:"most" doc:"how many runs are kept"`
}

// listRuns returns the runs that are kept, the newest first. ?limit=N sets the maximum number.
func (a *Admin) listRuns(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	limit := q.number("limit", runs.Kept, 1, runs.Kept)
	if q.refused(w) {
		return
	}
	list := a.runs.List()
	respond(w, http.StatusOK, shownRuns{list[:min(limit, len(list))], runs.Kept})
}

// newRun is the body of a request that starts a run.
type newRun struct {
	runs.Asked
	// The fields below are sent by the coordinator of a fleet's run.
	ID    string         `json:"id,omitempty" doc:"ID of the run, with a letter in it; its number by default"`
	Fleet *newMembership `json:"fleet,omitempty" doc:"the run of the fleet that it is part of"`
}

// newMembership is part of a request, so that unlike the same in responses it gets no other fields.
type newMembership runs.Membership

// runID matches the IDs that a run may be given. None of them is a number.
var runID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// startRun starts a run. The body is {"name": "…", "reset-state": true} or empty.
func (a *Admin) startRun(w http.ResponseWriter, r *http.Request) {
	var body newRun
	if r.ContentLength != 0 && !read(w, r, &body) {
		return
	}
	settle, problem := body.Check()
	if body.ID != "" && !runID.MatchString(body.ID) {
		problem = "id is not valid; expected at most 64 lower-case letters, digits and dashes, beginning with a letter"
	}
	if problem != "" {
		badBody(w, problem)
		return
	}
	entry, err := a.runs.Begin(runs.Beginning{ID: body.ID, Name: body.Name, Fleet: (*runs.Membership)(body.Fleet), Settle: settle, Schedule: (*arrivals.Schedule)(body.Schedule)})
	if err != nil {
		refuse(w, http.StatusConflict, "run_under_way", "Run under way", err.Error())
		return
	}
	if body.Reset {
		_ = a.server.Control().Data().Reset(nil, nil) // no set is named, so there is no error
	}
	a.log.Info("run started", "run", entry.ID, "name", entry.Name)
	w.Header().Set("Location", "/__admin/runs/"+entry.ID)
	respond(w, http.StatusCreated, entry)
}

// showTotals returns the totals of a run in a form that can be added up. ?after=SECOND leaves out
// the points of the timeline up to that second.
func (a *Admin) showTotals(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	after, err := strconv.ParseFloat(cmp.Or(q.values.Get("after"), "0"), 64)
	if err != nil {
		q.expect("after", "a number of seconds")
	}
	if q.refused(w) {
		return
	}
	totals := a.runs.Totals(r.PathValue("id"), after)
	if totals == nil {
		a.noRun(w, r.PathValue("id"))
		return
	}
	respond(w, http.StatusOK, totals)
}

// stopRun stops a run and returns its report.
func (a *Admin) stopRun(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, smallBody)) // the body is ignored
	report, found := a.runs.End(r.PathValue("id"))
	switch {
	case !found:
		a.noRun(w, r.PathValue("id"))
	case report == nil:
		refuse(w, http.StatusConflict, "run_ended", "Run ended", "the run has already ended")
	default:
		a.log.Info("run stopped", "run", report.ID, "name", report.Name, "requests", report.Total.Requests, "timing_trusted", report.Verdict.Trusted)
		respond(w, http.StatusOK, report)
	}
}

func (a *Admin) removeRun(w http.ResponseWriter, r *http.Request) {
	switch found, err := a.runs.Remove(r.PathValue("id")); {
	case !found:
		a.noRun(w, r.PathValue("id"))
	case err != nil:
		refuse(w, http.StatusConflict, "run_under_way", "Run under way", "the run has not ended; stop it first")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// showRun returns the report of a run as JSON. The report of an active run covers the time until
// now.
func (a *Admin) showRun(w http.ResponseWriter, r *http.Request) {
	if report := a.report(w, r.PathValue("id")); report != nil {
		respond(w, http.StatusOK, report)
	}
}

// showReport returns the report of a run as a page.
func (a *Admin) showReport(w http.ResponseWriter, r *http.Request) {
	if report := a.report(w, r.PathValue("id")); report != nil {
		a.sendPage(w, report.Page)
	}
}

// compareRuns compares the two runs named in the query, ?a=ID&b=ID. The result is JSON, or with
// ?format=html a page.
func (a *Admin) compareRuns(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	format := q.values.Get("format")
	if format != "" {
		q.one("format", "json", "html")
	}
	for _, side := range [...]string{"a", "b"} {
		if q.values.Get(side) == "" {
			q.wrong = "missing " + side + "; expected the ID of a run: ?a=1&b=2"
		}
	}
	if q.refused(w) {
		return
	}
	var sides [2]*runs.Report
	for i, side := range [...]string{"a", "b"} {
		if sides[i] = a.report(w, q.values.Get(side)); sides[i] == nil {
			return
		}
	}
	comparison := runs.Compare(sides[0], sides[1])
	if format == "html" {
		a.sendPage(w, comparison.Page)
		return
	}
	respond(w, http.StatusOK, comparison)
}

// report returns the report of a run. If the run does not exist, it refuses the request and returns
// nil.
func (a *Admin) report(w http.ResponseWriter, id string) *runs.Report {
	report := a.runs.Report(id)
	if report == nil {
		a.noRun(w, id)
	}
	return report
}

func (a *Admin) noRun(w http.ResponseWriter, id string) {
	refuse(w, http.StatusNotFound, "run_not_found", "No such run", fmt.Sprintf("run %q does not exist; the server keeps the last %d until it stops", id, runs.Kept))
}

// sendPage writes a self-contained page.
func (a *Admin) sendPage(w http.ResponseWriter, page func() ([]byte, error)) {
	text, err := page()
	if err != nil { // a bug: the templates are tested
		a.log.Error("cannot render the page of a run", "error", err.Error())
		refuse(w, http.StatusInternalServerError, "internal", "Internal error", "the page cannot be rendered")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", runs.PagePolicy())
	_, _ = w.Write(text) // an error means that the client has left
}
