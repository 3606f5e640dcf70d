package admin

import (
	"net/http"

	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/control/fleet"
	"mockserver/listener/control/runs"
	"mockserver/listener/memory/data"
	"mockserver/listener/observe/verdict"
)

const (
	htmlMedia = "text/html"
	textMedia = "text/plain"
	// openMetricsMedia is sent to scrapers that accept it.
	openMetricsMedia = "application/openmetrics-text"
)

// configuration contains the media types of a configuration.
var configuration = []any{"application/yaml", "application/json", "application/edn"}

// ok returns the response of most requests: 200, with a body of one of these types.
func ok(values ...any) map[int][]any { return map[int][]any{http.StatusOK: values} }

// shows returns the route of a GET that responds with a value and has no parameters.
func shows[T any](path, what string, value func() T) route {
	return route{withToken, http.MethodGet, path, func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, value()) }, what, nil, nil, ok(*new(T))}
}

// table returns all requests of the API.
func (a *Admin) table() []route {
	return append([]route{
		{forAnybody, "GET", "/healthz", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, state{Status: "ok"}) }, "is the program running?", nil, nil, ok(state{})},
		{forAnybody, "GET", "/readyz", a.ready, "are requests accepted? 503 if not", nil, nil, ok(state{})},
		{forAnybody, "GET", "/metrics", a.named(a.started(a.metrics.ServeHTTP)), "metrics for Prometheus", nil, nil, ok(textMedia, openMetricsMedia)},
		{forAnybody, "GET", "/__admin/ca.pem", a.named(a.started(a.showCA)), "the CA that clients have to trust; 404 without --tls auto", nil, nil, ok(pemMedia)},
		{asThePage, "GET", indexPath, a.showIndex, "this list", nil, nil, ok(index{})},
		{asThePage, "GET", documentPath, a.showDocument, "the OpenAPI document of the admin API", nil, nil, ok(map[string]any{})},
		shows("/__admin/endpoints", "the endpoints that are served, in order, then the WebSockets", func() shownEndpoints { return shownEndpoints{a.withRequests(a.shownEndpoints())} }),
		{withToken, "POST", "/__admin/endpoints", a.addEndpoint, "add one endpoint, in front of all others", nil, configuration, map[int][]any{http.StatusCreated: {changed{}}}},
		{withToken, "GET", "/__admin/endpoints/{id}", a.showEndpoint, "one endpoint", nil, nil, ok(shownEndpoint{})},
		{withToken, "DELETE", "/__admin/endpoints/{id}", a.removeEndpoint, "remove one endpoint", nil, nil, ok(changed{})},
		shows("/__admin/spec", "what is served, and whether requests changed it",
			func() shownSpec {
				return shownSpec{a.withRequests(a.shownEndpoints()), a.brought.Load() == a.server.Spec()}
			}),
		{withToken, "PUT", "/__admin/spec", a.replaceSpec, "serve this configuration instead",
			[]parameter{{"check", "boolean", "if true, only what is wrong with it is reported"}, {"change", "integer", "number of a change to all replicas, set by the replica that passes it on"}}, configuration, ok(changed{})},
		{withToken, "POST", "/__admin/reload", a.reload, "read the configuration files again", nil, nil, ok(changed{})},
		{withToken, "GET", "/__admin/journal", a.findExchanges, "requests that were kept, the newest first", searched, nil, ok(foundExchanges{})},
		{withToken, "DELETE", "/__admin/journal", a.resetJournal, "delete the requests that were kept; counters stay", nil, nil, ok(state{})},
		{withToken, "POST", "/__admin/verify", a.verify, "were there as many requests as expected? 422 if not", nil, []any{verification{}},
			map[int][]any{http.StatusOK: {verdictOnCount{}}, http.StatusUnprocessableEntity: {verdictOnCount{}}}},
		shows("/__admin/unmatched", "the different requests that no endpoint answered, with the reasons",
			func() shownMisses { return shownMisses{a.server.Unmatched(), a.server.Counts().Distinct} }),
		{withToken, "GET", "/__admin/webhooks", a.listWebhooks, "pending webhooks, the next one first, and the outcomes of the rest",
			[]parameter{{"limit", "integer", "how many are shown, 100 by default, at most 10,000"}}, nil, ok(shownDeliveries{})},
		{withToken, "DELETE", "/__admin/webhooks/{id}", a.order((*listener.Server).CancelWebhook, "cancelled"), "cancel a pending webhook", nil, nil, ok(state{})},
		{withToken, "POST", "/__admin/webhooks/{id}/fire", a.order((*listener.Server).FireWebhook, "fired"), "send a pending webhook now", nil, nil, ok(state{})},
		{withToken, "GET", "/__admin/state", a.showState, "the sets of rows", nil, nil, ok(shownSets{})},
		{withToken, "POST", "/__admin/state/reset", a.resetState, "drop the changes to rows, in all sets or some; picks start over", nil, []any{asksReset{}}, ok(state{})},
		shows("/__admin/state/snapshots", "the snapshots of the changes, the oldest first", func() shownSnapshots { return shownSnapshots{a.server.Control().Data().Snapshots()} }),
		{withToken, "POST", "/__admin/state/snapshots", a.takeSnapshot, "save the current changes under a name", nil, []any{asksSnapshot{}}, map[int][]any{http.StatusCreated: {data.Snapshot{}}}},
		{withToken, "DELETE", "/__admin/state/snapshots/{name}", a.removeSnapshot, "delete a snapshot", nil, nil, map[int][]any{http.StatusNoContent: nil}},
		{withToken, "POST", "/__admin/state/snapshots/{name}/restore", a.restoreSnapshot, "restore the changes of a snapshot", nil, nil, ok(state{})},
		{withToken, "GET", "/__admin/state/{set}", a.showRows, "rows of a set; all of them with Accept: application/x-ndjson",
			[]parameter{{"key", "string", "only the row with this key"}, {"changed", "boolean", "true for the changes of all parts instead of rows"}, inPart, {"limit", "integer", "how many are shown, 100 by default, at most 10,000"}, {"offset", "integer", "how many are skipped first"}},
			nil, ok(shownRows{}, rowsMedia)},
		{withToken, "PUT", "/__admin/state/{set}/{key}", a.writeRow(false), "replace a row, or add it", []parameter{inPart}, []any{map[string]any{}}, ok(map[string]any{})},
		{withToken, "PATCH", "/__admin/state/{set}/{key}", a.writeRow(true), "change members of a row (RFC 7396)", []parameter{inPart}, []any{map[string]any{}}, ok(map[string]any{})},
		{withToken, "DELETE", "/__admin/state/{set}/{key}", a.deleteRow, "delete a row", []parameter{inPart}, nil, map[int][]any{http.StatusNoContent: nil}},
		{withToken, "GET", "/__admin/counts", a.showCounts, "all counters since the start, exact", nil, nil, ok(allCounts{})},
		shows("/__admin/config", "version, settings without secrets, endpoints", func() shownConfig {
			return shownConfig{a.opts.Build.Version, a.opts.Build.Commit, a.server.URL(), append([]settings.Given{}, a.opts.Settings...), a.withRequests(a.shownEndpoints())}
		}),
		shows("/__admin/verdict", "can the timing of the last seconds be trusted?", func() verdict.Verdict { return a.sampler.Current() }),
		{withToken, "GET", "/__admin/samples", a.showSamples, "the latest samples, one a second",
			[]parameter{{"after", "string", "only samples after this time"}, {"last", "integer", "maximum number of samples: 300 by default, up to 3600"}}, nil, ok(shownSamples{})},
		{withToken, "GET", "/__admin/recordings", a.listRecordings, "recordings of upstreams, running and ended", nil, nil, ok(shownRecordings{})},
		{withToken, "POST", "/__admin/recordings", a.startRecording, "record an upstream", nil, []any{newRecording{}}, map[int][]any{http.StatusCreated: {shownRecording{}}}},
		{withToken, "POST", "/__admin/recordings/{id}/stop", a.stopRecording, "end a recording", nil, nil, ok(shownRecording{})},
		{withToken, "GET", "/__admin/recordings/{id}/har", a.showHAR, "a recording as HAR 1.2", nil, nil, ok(harMedia)},
		{withToken, "GET", "/__admin/recordings/{id}/config", a.showRecordedConfig, "the configuration imported from a recording, with its files as an archive", nil, nil, ok(yamlMedia, zipMedia)},
	}, append(a.runTable(), a.fleetTable()...)...)
}

// runTable returns the requests about runs of this server.
func (a *Admin) runTable() []route {
	return []route{
		{withToken, "GET", "/__admin/runs", a.listRuns, "the runs that are kept, the newest first",
			[]parameter{{"limit", "integer", "how many are shown, all of them by default"}}, nil, ok(shownRuns{})},
		{withToken, "POST", "/__admin/runs", a.startRun, "begin a run", nil, []any{newRun{}}, map[int][]any{http.StatusCreated: {runs.RunEntry{}}}},
		{withToken, "GET", "/__admin/runs/compare", a.compareRuns, "two runs next to each other",
			[]parameter{{"a", "string", "the ID of a run"}, {"b", "string", "the ID of another run"}, {"format", "string", "json, which is the default, or html"}}, nil, ok(runs.Comparison{}, htmlMedia)},
		{withToken, "GET", "/__admin/runs/{id}", a.showRun, "the report of a run", nil, nil, ok(runs.Report{})},
		{withToken, "DELETE", "/__admin/runs/{id}", a.removeRun, "delete a run that has ended", nil, nil, map[int][]any{http.StatusNoContent: nil}},
		{withToken, "POST", "/__admin/runs/{id}/stop", a.stopRun, "end a run, and return its report", nil, nil, ok(runs.Report{})},
		{withToken, "GET", "/__admin/runs/{id}/report", a.showReport, "the report of a run as a page", nil, nil, ok(htmlMedia)},
		{withToken, "GET", "/__admin/runs/{id}/totals", a.showTotals, "the totals of a run, in a form that can be added up exactly across replicas",
			[]parameter{{"after", "number", "only points of the timeline that end after this second of the run"}}, nil, ok(runs.Totals{})},
	}
}

// fleetTable returns the requests about all replicas.
func (a *Admin) fleetTable() []route {
	here := parameter{"here", "boolean", "if true, no other replica is asked"}
	return []route{
		{withToken, "GET", fleetPath, a.ofFleet(func(w http.ResponseWriter, r *http.Request) { respond(w, http.StatusOK, a.fleet.Look(r.Context())) }), "the replicas, and whether they agree", nil, nil, ok(fleet.Overview{})},
		{withToken, "GET", "/__admin/fleet/replica", a.showReplica, "the state of this replica", nil, nil, ok(fleet.Replica{})},
		{withToken, "GET", "/__admin/fleet/spec", a.ofFleet(a.showChange), "the configuration that all replicas were given last, while it is served", nil, nil, ok(configuration...)},
		{withToken, "PUT", "/__admin/fleet/spec", a.ofFleet(a.replaceEverywhere), "have all replicas serve this configuration, or none", nil, configuration, map[int][]any{http.StatusOK: {fleet.Replaced{}}, http.StatusConflict: {notReplaced{}}, http.StatusUnprocessableEntity: {notReplaced{}}}},
		{withToken, "GET", "/__admin/fleet/journal", a.ofFleet(a.findEverywhere), "requests that any replica kept, the newest first", searched[1:], nil, ok(fleetExchanges{})},
		{withToken, "DELETE", "/__admin/fleet/journal", a.ofFleet(a.resetEverywhere), "delete the requests that were kept on all replicas", nil, nil, ok(fleetReset{})},
		{withToken, "GET", "/__admin/fleet/unmatched", a.ofFleet(a.showUnmatchedEverywhere), "the different requests that no endpoint of any replica answered", nil, nil, ok(fleetMisses{})},
		{withToken, "POST", "/__admin/fleet/verify", a.ofFleet(a.verifyEverywhere), "were there as many requests to all replicas as expected? 422 if not", nil, []any{verification{}},
			map[int][]any{http.StatusOK: {fleetCount{}}, http.StatusUnprocessableEntity: {fleetCount{}}}},
		{withToken, "GET", "/__admin/fleet/runs", a.ofFleet(a.listFleetRuns), "the runs of all replicas, the newest first", []parameter{here}, nil, ok(fleet.RunList{})},
		{withToken, "POST", "/__admin/fleet/runs", a.ofFleet(a.startFleetRun), "begin a run on all replicas; 409 while they do not agree", nil, []any{newFleetRun{}},
			map[int][]any{http.StatusCreated: {runs.RunEntry{}}, http.StatusConflict: {notAgreed{}}}},
		{withToken, "GET", "/__admin/fleet/runs/{id}", a.ofFleet(a.showFleetRun), "the merged report of a run of all replicas", []parameter{here}, nil, ok(runs.Report{})},
		{withToken, "DELETE", "/__admin/fleet/runs/{id}", a.ofFleet(a.removeFleetRun), "delete a run of all replicas that has ended", []parameter{here}, nil, map[int][]any{http.StatusNoContent: nil}},
		{withToken, "POST", "/__admin/fleet/runs/{id}/stop", a.ofFleet(a.stopFleetRun), "end a run of all replicas, and return its merged report", []parameter{here}, nil, ok(runs.Report{})},
		{withToken, "GET", "/__admin/fleet/runs/{id}/report", a.ofFleet(a.showFleetReport), "the merged report as a page", []parameter{here}, nil, ok(htmlMedia)},
	}
}

// searched contains the parameters of a journal search; see searchOf.
var searched = []parameter{
	{"after", "integer", "only requests with an id above this one"},
	{"endpoint", "string", "an id, or a name such as GET /users/:id"},
	{"kept", "string", "why it was kept: sample, error, unmatched or slow; matched for all but unmatched"},
	{"limit", "integer", "how many are shown, 100 by default, at most 1000"},
	{"method", "string", "GET"},
	{"path", "string", "as requested; /orders/* is every path that begins with /orders/"},
	{"since", "string", "how long ago, such as 5m, or a time, such as 2024-01-15T10:30:00Z"},
	{"status", "string", "404, 5xx, or several separated by commas"},
}
