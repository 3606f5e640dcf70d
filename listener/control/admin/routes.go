package admin

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// verbs maps the methods of a path to handlers. The handler of GET also serves HEAD.
type verbs map[string]http.HandlerFunc

// routes returns the handler of all paths.
func (a *Admin) routes() http.Handler {
	mux := http.NewServeMux()
	for path, v := range a.page() {
		mux.HandleFunc(path, v.serve)
	}
	handlers, asks := map[string]verbs{}, map[string]access{}
	for _, row := range a.table() {
		if row.method == http.MethodGet && row.asks == withToken && !strings.HasPrefix(row.path, fleetPath) { // these also send requests to this address
			row.handler = a.inTurn(row.handler)
		}
		if row.asks != forAnybody { // probes and scrapes may have any query
			row.handler = accepting(row.query, row.handler)
		}
		if handlers[row.path] == nil {
			handlers[row.path], asks[row.path] = verbs{}, row.asks
		}
		handlers[row.path][row.method] = row.handler
	}
	handlers["/__admin"], asks["/__admin"] = handlers[indexPath], asks[indexPath] // the mux would redirect it
	for path, v := range handlers {
		h := v.serve
		switch asks[path] {
		case withToken:
			h = a.guarded(a.started(h))
		case asThePage:
			h = a.named(h)
		}
		if path == indexPath {
			path += "{$}"
		}
		mux.HandleFunc(path, h)
	}
	nothing := a.guarded(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "Not found", r.URL.Path+" is not a path of the admin address; GET /__admin/ lists the paths")
	})
	mux.HandleFunc("/", nothing)
	return restricted(func(w http.ResponseWriter, r *http.Request) {
		if !canonical(r.URL.EscapedPath()) { // otherwise the mux would redirect without a token
			nothing(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// canonical reports whether the mux serves a path without redirecting it to another spelling.
func canonical(text string) bool {
	clean := path.Clean(text)
	return strings.HasPrefix(text, "/") && (text == clean || text == clean+"/" && clean != "/")
}

// accepting wraps a handler: malformed queries, and queries that contain another parameter or the
// same parameter twice, are refused.
func accepting(parameters []parameter, next http.HandlerFunc) http.HandlerFunc {
	names := list.Map(parameters, func(p parameter) string { return p.name })
	expected := "expected no parameters"
	if len(names) > 0 {
		expected = "expected " + wording.OneOf(names)
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
				badQuery(w, fmt.Sprintf("%q is not a parameter of %s; %s", name, r.URL.Path, expected))
				return
			case len(values) > 1:
				badQuery(w, name+" is given more than once")
				return
			}
		}
		next(w, r)
	}
}

// serve calls the handler for the method of a request, or refuses the request if there is none.
func (v verbs) serve(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := v[method]; h != nil {
		h(w, r)
		return
	}
	methods := slices.Sorted(maps.Keys(v))
	if v["GET"] != nil {
		methods = append(methods, "HEAD")
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed", r.URL.Path+" answers "+strings.Join(methods, ", "))
}

// contentPolicy is the Content-Security-Policy of responses that are not pages.
const contentPolicy = "default-src 'none'; frame-ancestors 'none'"

// restricted sets the headers that restrict what browsers do with a response. Handlers of pages set
// their own Content-Security-Policy.
func restricted(next http.HandlerFunc) http.Handler {
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
