package admin

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// verbs are what a path answers, by method. A GET answers HEAD too.
type verbs map[string]http.HandlerFunc

// routes are all paths of the admin address.
func (a *Admin) routes() http.Handler {
	mux := http.NewServeMux()
	for path, v := range a.open() {
		mux.HandleFunc(path, v.serve)
	}
	for path, v := range a.page() {
		mux.HandleFunc(path, v.serve)
	}
	for path, v := range a.closed() {
		if show := v["GET"]; show != nil {
			v["GET"] = a.inTurn(show)
		}
		mux.HandleFunc(path, a.guarded(a.started(accepting(parameters()[path], v.serve))))
	}
	nothing := a.guarded(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "Not found", r.URL.Path+" is nothing of the admin address; docs/operations.md lists what is")
	})
	mux.HandleFunc("/", nothing)
	return secured(func(w http.ResponseWriter, r *http.Request) {
		if !canonical(r.URL.EscapedPath()) { // what the mux answers by itself, to anybody
			nothing(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// canonical tells whether a path is written in the one way that the mux does not redirect.
func canonical(text string) bool {
	clean := path.Clean(text)
	return strings.HasPrefix(text, "/") && (text == clean || text == clean+"/" && clean != "/")
}

// parameters are what may stand in the query of a path.
func parameters() map[string][]string {
	return map[string][]string{
		"/__admin/journal":      slices.Sorted(maps.Keys(searchParameters)),
		"/__admin/webhooks":     {"limit"},
		"/__admin/samples":      {"after", "last"},
		"/__admin/runs/compare": {"a", "b", "format"},
	}
}

// accepting is a handler that refuses what it does not read: a query with other
// parameters, or with one of them twice.
func accepting(names []string, next http.HandlerFunc) http.HandlerFunc {
	accepted := "no parameter is accepted here"
	if len(names) > 0 {
		accepted = "accepted are " + strings.Join(names, ", ")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			badQuery(w, "the query is malformed: "+err.Error())
			return
		}
		for name, values := range query {
			switch {
			case !slices.Contains(names, name):
				badQuery(w, fmt.Sprintf("%q is no parameter of %s; %s", name, r.URL.Path, accepted))
				return
			case len(values) > 1:
				badQuery(w, name+" is given more than once")
				return
			}
		}
		next(w, r)
	}
}

// open are the paths that answer everybody.
func (a *Admin) open() map[string]verbs {
	return map[string]verbs{
		"/healthz": {"GET": a.health},
		"/readyz":  {"GET": a.ready},
		"/metrics": {"GET": a.named(a.started(a.metrics.ServeHTTP))},
	}
}

// closed are the paths that ask for the token.
func (a *Admin) closed() map[string]verbs {
	return map[string]verbs{
		"/__admin/endpoints":          {"GET": a.listEndpoints, "POST": a.addEndpoint},
		"/__admin/endpoints/{id}":     {"GET": a.showEndpoint, "DELETE": a.removeEndpoint},
		"/__admin/spec":               {"GET": a.showSpec, "PUT": a.replaceSpec},
		"/__admin/reload":             {"POST": a.reload},
		"/__admin/journal":            {"GET": a.findExchanges, "DELETE": a.resetJournal},
		"/__admin/verify":             {"POST": a.verify},
		"/__admin/webhooks":           {"GET": a.listWebhooks},
		"/__admin/webhooks/{id}":      {"DELETE": a.cancelWebhook},
		"/__admin/webhooks/{id}/fire": {"POST": a.fireWebhook},
		"/__admin/unmatched":          {"GET": a.showUnmatched},
		"/__admin/counts":             {"GET": a.showCounts},
		"/__admin/config":             {"GET": a.showConfig},
		"/__admin/verdict":            {"GET": a.showVerdict},
		"/__admin/samples":            {"GET": a.showSamples},
		"/__admin/runs":               {"GET": a.listRuns, "POST": a.startRun},
		"/__admin/runs/{id}":          {"GET": a.showRun, "DELETE": a.removeRun},
		"/__admin/runs/{id}/stop":     {"POST": a.stopRun},
		"/__admin/runs/{id}/report":   {"GET": a.showReport},
		"/__admin/runs/compare":       {"GET": a.compareRuns},
	}
}

// serve answers with what the method of a request asks for.
func (v verbs) serve(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := v[method]; h != nil {
		h(w, r)
		return
	}
	accepted := slices.Sorted(maps.Keys(v))
	if v["GET"] != nil {
		accepted = append(accepted, "HEAD")
	}
	w.Header().Set("Allow", strings.Join(accepted, ", "))
	refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed", r.URL.Path+" answers "+strings.Join(accepted, ", "))
}

// started is a handler that refuses before a server is attached.
func (a *Admin) started(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !a.attached.Load() {
			refuse(w, http.StatusServiceUnavailable, "starting", "Starting", "the configuration is still read")
			return
		}
		next(w, r)
	}
}

// contentPolicy is for answers that are no page: nothing in them is run or shown.
const contentPolicy = "default-src 'none'; frame-ancestors 'none'"

// secured sets the headers that keep browsers from doing more with an answer than
// show it. What serves a page sets a Content-Security-Policy of its own.
func secured(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next(w, r)
	})
}

// health tells that the program runs.
func (a *Admin) health(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready tells whether requests are taken.
func (a *Admin) ready(w http.ResponseWriter, _ *http.Request) {
	if why := a.unready(); why != "" {
		refuse(w, http.StatusServiceUnavailable, "not_ready", "Not ready", why)
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "ready"})
}

// unready says why no requests are taken; "" when they are.
func (a *Admin) unready() string {
	if !a.attached.Load() {
		return "the configuration is still read"
	}
	select {
	case <-a.server.Done():
		return "the server has stopped"
	default:
	}
	if a.server.Stopping() {
		return "the server is stopping: it finishes the requests under way"
	}
	return ""
}
