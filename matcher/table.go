package matcher

import (
	"bytes"
	"slices"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// Table finds the route that answers a request. It is immutable, and may be used by any number of
// goroutines.
type Table struct {
	routes []Route

	anyHost  *site
	exact    map[string]*site
	wildcard map[string]*site // keyed by the text after the star: ".example.com"

	sites []*site // all sites, in the order of their first declaration
}

// Compile builds the table of routes. The problems are warnings about declarations that an earlier
// one makes unreachable.
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

// site returns the site of a declared host. It creates the site if it does not exist.
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

// Match returns the index of the route that answers r, or -1. It uses method as the method of the
// request. The path parameters of r are set to those of the route.
func (t *Table) Match(r *Request, method string) int {
	found := -1
	switch {
	case r.parts().trimmed == nil:
	case len(t.exact)+len(t.wildcard) == 0:
		found = t.anyHost.match(r, method)
	default:
		walk := t.sitesOf(r)
		for s := walk.next(); s != nil && found < 0; s = walk.next() {
			found = s.match(r, method)
		}
	}
	if found < 0 {
		r.params = r.params[:0]
	}
	return found
}

// Methods returns the methods, sorted, for which a path, host and parameter types like those of r
// are declared, regardless of conditions; nil if there are none. An endpoint for any method counts
// as all methods that can be declared.
func (t *Table) Methods(r *Request) []string { return t.methods(r, true) }

// OwnMethods is like Methods, but leaves out endpoints for any method.
func (t *Table) OwnMethods(r *Request) []string { return t.methods(r, false) }

func (t *Table) methods(r *Request, anyMethod bool) []string {
	var methods []string
	t.visit(r, func(l *leaf) {
		switch {
		case l.match(r, true) < 0:
		case l.method == item.MethodAny && anyMethod:
			methods = append(methods, semantics.Methods...)
		case l.method == item.MethodAny:
		default:
			methods = append(methods, l.method)
		}
	})
	slices.Sort(methods)
	return slices.Compact(methods)
}

// First is like Match, but ignores the conditions of routes, and captures no parameters.
func (t *Table) First(r *Request, method string) int {
	found := -1
	t.visit(r, func(l *leaf) {
		if found < 0 && l.method == method {
			found = l.match(r, true)
		}
	})
	return found
}

// visit calls f for the leaves that the path of a request reaches.
func (t *Table) visit(r *Request, f func(*leaf)) {
	if r.parts().trimmed == nil {
		return
	}
	walk := t.sitesOf(r)
	for s := walk.next(); s != nil; s = walk.next() {
		s.root.visit(r, 0, f)
	}
	r.params = r.params[:0]
}

// siteWalk iterates over the sites that can answer for a host, the most specific first.
type siteWalk struct {
	table *Table
	host  []byte
	at    int // offset of the suffix that was tried last; -1 before the exact host
}

func (t *Table) sitesOf(r *Request) siteWalk {
	w := siteWalk{table: t, at: -1}
	if len(t.exact)+len(t.wildcard) > 0 {
		w.host = r.HostName()
	}
	return w
}

// next returns the next site, or nil after the last one.
func (w *siteWalk) next() *site {
	if w.at < 0 {
		w.at = 0
		if s := w.table.exact[string(w.host)]; s != nil {
			return s
		}
	}
	for w.at < len(w.host) {
		dot := bytes.IndexByte(w.host[w.at+1:], '.')
		if dot < 0 {
			break
		}
		w.at += 1 + dot
		if s := w.table.wildcard[string(w.host[w.at:])]; s != nil {
			return s
		}
	}
	if w.at > len(w.host) {
		return nil
	}
	w.at = len(w.host) + 1
	return w.table.anyHost
}
