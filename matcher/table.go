package matcher

import (
	"slices"

	"mockserver/config"
	"mockserver/config/syntax"
)

// Predicate is a condition over a request. It may ask for the path parameters of
// the route it belongs to, and must not keep the request.
type Predicate func(*Request) bool

// Route is an endpoint as Compile takes it.
type Route struct {
	Endpoint *config.Endpoint // its Host, Method, If and position; never nil
	Pattern  Pattern          // its path
	If       Predicate        // its condition; nil always holds
	// Kind is what messages call the endpoint instead of by its method: "WebSocket".
	Kind string
}

// Table finds the route that answers a request. It never changes, and may be
// used by any number of goroutines.
type Table struct {
	routes []Route

	anyHost  *site
	exact    map[string]*site
	wildcard map[string]*site // by what follows the star: ".example.com"

	sites []*site // all of them, in the order of their first declaration
}

// entry is a route as its leaf knows it.
type entry struct {
	index int
	*demands
}

// demands are what a route demands of a request beside its shape and method.
type demands struct {
	types []paramType // nil when the parameters take any text
	mixed []*mixed    // nil for most
	when  Predicate
}

// demandless is that of a route which demands nothing.
var demandless demands

// leaf is the routes of one host, one shape and one method, in the order they
// were declared. Two patterns have one shape when they have the same literals,
// and typed parameters, plain ones and a catch-all in the same places.
type leaf struct {
	method  string
	next    *leaf // of another method at the same node; nil for none
	rest    bool  // the last parameter is a catch-all
	params  []int // the segments that hold the parameters
	entries []entry
}

// Compile builds the table of routes. The problems are warnings: declarations
// that an earlier one makes unreachable.
func Compile(routes []Route) (*Table, syntax.Problems) {
	t := &Table{routes: routes, exact: map[string]*site{}, wildcard: map[string]*site{}}
	t.anyHost = newSite()
	t.sites = []*site{t.anyHost}
	for i := range routes {
		t.site(routes[i].Endpoint.Host).add(i, &routes[i])
	}
	var shadows syntax.Problems
	for _, s := range t.sites {
		s.pack()
		s.shards, s.paths = newShards(s.paths), nil
		shadows = append(shadows, s.shadows(routes)...)
	}
	return t, shadows
}

// site returns the site of a declared host, a new one if there is none yet.
func (t *Table) site(host string) *site {
	host = string(normalHost(nil, []byte(host)))
	if host == "" {
		return t.anyHost
	}
	sites := t.exact
	if len(host) > 2 && host[:2] == "*." {
		sites, host = t.wildcard, host[1:]
	}
	s := sites[host]
	if s == nil {
		s = newSite()
		sites[host] = s
		t.sites = append(t.sites, s)
	}
	return s
}

// Match returns the index of the route that answers r, taking method for the
// request's, or -1. The path parameters of that route are then r's.
func (t *Table) Match(r *Request, method string) int {
	found := -1
	switch {
	case r.parts().trimmed == nil:
	case len(t.exact)+len(t.wildcard) == 0:
		found = t.anyHost.match(r, method)
	default:
		for walk := t.sitesOf(r); found < 0; {
			s := walk.next()
			if s == nil {
				break
			}
			found = s.match(r, method)
		}
	}
	if found < 0 {
		r.params = r.params[:0]
	}
	return found
}

// Methods returns the methods, sorted, for which a path, host and parameter
// types like r's are declared, whatever their conditions say; nil for none.
func (t *Table) Methods(r *Request) []string {
	var methods []string
	if r.parts().trimmed == nil {
		return nil
	}
	v := visitor{request: r, visit: func(l *leaf) {
		if !slices.Contains(methods, l.method) && l.anyTypes(r) {
			methods = append(methods, l.method)
		}
	}}
	walk := t.sitesOf(r)
	for s := walk.next(); s != nil; s = walk.next() {
		v.node(s.root, 0)
	}
	r.params = r.params[:0]
	slices.Sort(methods)
	return methods
}

// answer returns the first route of l whose types and condition hold, or -1. r's
// parameters are l's.
func (l *leaf) answer(r *Request) int {
	whole := len(r.params)
	for i := range l.entries {
		e := &l.entries[i]
		if e.mixed != nil && !e.splitAll(r, whole) {
			continue
		}
		if (e.types == nil || typesHold(e.types, r.params)) && (e.when == nil || e.when(r)) {
			return e.index
		}
		r.params = r.params[:whole]
	}
	return -1
}

func (l *leaf) anyTypes(r *Request) bool {
	whole := len(r.params)
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		if e.mixed == nil {
			return typesHold(e.types, r.params)
		}
		ok := e.splitAll(r, whole) && typesHold(e.types, r.params)
		r.params = r.params[:whole]
		return ok
	})
}

func typesHold(types []paramType, params [][]byte) bool {
	for i, t := range types {
		if !t.accepts(params[i]) {
			return false
		}
	}
	return true
}
