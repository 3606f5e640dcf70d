package matcher

import "mockserver/config"

// Predicate is a condition on a request. It may use the path parameters of the route that it
// belongs to, and must not retain the request.
type Predicate func(*Request) bool

// Route is an endpoint as passed to Compile.
type Route struct {
	Endpoint *config.Endpoint // provides Host, Method, If and position; never nil
	Pattern  Pattern          // its path
	If       Predicate        // its condition; nil if it has none
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

// demandless is shared by the routes that demand nothing.
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
