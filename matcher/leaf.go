package matcher

import (
	"mockserver/config/item"
)

// Predicate is a condition on a request. It may use the path parameters of the route that it
// belongs to, and must not retain the request.
type Predicate func(*Request) bool

// Route is an endpoint as passed to Compile.
type Route struct {
	Endpoint *item.Endpoint // provides Host, Method, If and position; never nil
	Pattern  Pattern        // its path
	If       Predicate      // its condition; nil if it has none
	// Kind replaces the method of the endpoint in messages: "WebSocket".
	Kind string
}

// entry is a route in its leaf.
type entry struct {
	index int
	*demands
}

// demands contains what a route demands of a request in addition to its shape and method.
type demands struct {
	types []paramType // nil if the parameters accept any text
	mixed []*mixed    // nil for most routes
	when  Predicate
}

// demandless is shared by the routes without further demands.
var demandless demands

// leaf contains the routes with the same host, shape and method, in the order they were declared.
// Two patterns have the same shape if they have the same literals, and have typed parameters, plain
// parameters and a catch-all in the same positions.
type leaf struct {
	method  string
	next    *leaf // leaf of another method at the same node; nil if there is none
	rest    bool  // the last parameter is a catch-all
	params  []int // indexes of the segments that contain the parameters
	entries []entry
}

// splitAll appends the parameters inside segments to those of the leaf, which are whole segments.
// It reports whether all segments have the required form.
func (e *entry) splitAll(r *Request, whole int) bool {
	r.params = r.params[:whole]
	for i, m := range e.mixed {
		if m == nil {
			continue
		}
		var ok bool
		if r.params, ok = m.split(r.params[i], r.params); !ok {
			r.params = r.params[:whole]
			return false
		}
	}
	return true
}

// match returns the first route of l whose types and, unless it is ignored, condition match, or -1.
// The parameters of r must have been captured for l.
func (l *leaf) match(r *Request, ignoreConditions bool) int {
	whole := len(r.params)
	for i := range l.entries {
		e := &l.entries[i]
		if e.mixed != nil && !e.splitAll(r, whole) {
			continue
		}
		if (e.types == nil || typesHold(e.types, r.params)) && (e.when == nil || ignoreConditions || e.when(r)) {
			return e.index
		}
		r.params = r.params[:whole]
	}
	return -1
}

func typesHold(types []paramType, params [][]byte) bool {
	for i, t := range types {
		if !t.accepts(params[i]) {
			return false
		}
	}
	return true
}
