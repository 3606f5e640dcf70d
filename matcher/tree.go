package matcher

import "mockserver/config"

// site is the routes of one declared host, or those without one.
//
// The tree of segments is the authority on which route answers. The buckets hold
// fasthttp/router routers that find the same answer faster for most requests.
type site struct {
	root    *node
	buckets []bucket // by number of segments
	leaves  []*leaf  // in the order of their first declaration
	shapes  []*shape // while compiling
}

// node is a place in the tree of segments.
type node struct {
	literals    map[string]*node
	typed, text *node
	leaves      []*leaf // of the paths that end here
	rest        []*leaf // of the paths with a catch-all from here on

	shape *shape // while compiling
	// unsure tells that the router may overlook something at or below this node:
	// a catch-all, a path it does not know, or a literal beside a parameter, where
	// it does not always turn back. literalUnsure tells so of a literal child.
	unsure, literalUnsure bool
}

// shape is one row of literals and parameters, for the routers.
type shape struct {
	segments []segment
	node     *node
}

func newSite() *site { return &site{root: new(node)} }

// add puts route number index into the tree.
func (s *site) add(index int, r *Route) {
	p := r.Pattern
	segments := p.segments
	if p.catchesAll() {
		segments = segments[:len(segments)-1]
	}
	n := s.root
	for i := range segments {
		n = n.child(&segments[i])
	}
	at := &n.leaves
	if p.catchesAll() {
		at = &n.rest
	} else if n.shape == nil {
		n.shape = &shape{segments: segments, node: n}
		s.shapes = append(s.shapes, n.shape)
	}
	l := s.leaf(at, methodOf(r.Endpoint), &p)
	l.entries = append(l.entries, entry{index: index, types: p.types, when: r.If})
}

// methodOf is the method an endpoint answers.
func methodOf(e *config.Endpoint) string {
	if e.Method == "" {
		return "GET"
	}
	return e.Method
}

// child returns the node that segment leads to, a new one if there is none yet.
func (n *node) child(segment *segment) *node {
	at := &n.text
	switch segment.kind {
	case literalSegment:
		if n.literals == nil {
			n.literals = map[string]*node{}
		}
		c := n.literals[segment.text]
		if c == nil {
			c = new(node)
			n.literals[segment.text] = c
		}
		return c
	case typedSegment:
		at = &n.typed
	}
	if *at == nil {
		*at = new(node)
	}
	return *at
}

// leaf returns the leaf of a method among those at a node, a new one if there is
// none yet.
func (s *site) leaf(leaves *[]*leaf, method string, p *Pattern) *leaf {
	for _, l := range *leaves {
		if l.method == method {
			return l
		}
	}
	l := &leaf{method: method, rest: p.catchesAll()}
	for i := range p.segments {
		if p.segments[i].kind != literalSegment {
			l.params = append(l.params, i)
		}
	}
	*leaves = append(*leaves, l)
	s.leaves = append(s.leaves, l)
	return l
}

// match returns the route of this site that answers r, or -1. r's target is cut,
// and a path.
func (s *site) match(r *Request, method string) int {
	if !r.target.escaped {
		if l := s.lookup(r, method); l != nil && l.direct && r.capture(l) {
			if i := l.answer(r); i >= 0 {
				return i
			}
		}
	}
	return s.root.find(r, method, 0)
}

// find returns the most specific route at or below n that answers r, whose first
// depth segments led to n, or -1.
func (n *node) find(r *Request, method string, depth int) int {
	if depth == len(r.target.slashes) {
		if i := r.try(n.leaves, method); i >= 0 {
			return i
		}
		return r.try(n.rest, method)
	}
	text := r.segment(depth)
	if c := n.literals[string(text)]; c != nil {
		if i := c.find(r, method, depth+1); i >= 0 {
			return i
		}
	}
	if n.typed != nil && len(text) > 0 {
		if i := n.typed.find(r, method, depth+1); i >= 0 {
			return i
		}
	}
	if n.text != nil && len(text) > 0 {
		if i := n.text.find(r, method, depth+1); i >= 0 {
			return i
		}
	}
	return r.try(n.rest, method)
}

// visit calls f with every leaf at or below n that find would look at, of any
// method.
func (n *node) visit(r *Request, depth int, f func(*leaf)) {
	if depth == len(r.target.slashes) {
		r.each(n.leaves, f)
		r.each(n.rest, f)
		return
	}
	text := r.segment(depth)
	if c := n.literals[string(text)]; c != nil {
		c.visit(r, depth+1, f)
	}
	if n.typed != nil && len(text) > 0 {
		n.typed.visit(r, depth+1, f)
	}
	if n.text != nil && len(text) > 0 {
		n.text.visit(r, depth+1, f)
	}
	r.each(n.rest, f)
}

// try returns the route of the leaf of method that answers r, or -1.
func (r *Request) try(leaves []*leaf, method string) int {
	for _, l := range leaves {
		if l.method == method {
			r.captureSegments(l)
			return l.answer(r)
		}
	}
	return -1
}

func (r *Request) each(leaves []*leaf, f func(*leaf)) {
	for _, l := range leaves {
		r.captureSegments(l)
		f(l)
	}
}

// segment is segment number i of the path, decoded.
func (r *Request) segment(i int) []byte {
	if !r.target.escaped {
		return r.target.raw(i)
	}
	if len(r.segments) == 0 {
		for k := range r.target.slashes {
			r.segments = append(r.segments, r.decoded(r.target.raw(k), false))
		}
	}
	return r.segments[i]
}

// capture takes the parameters of l, whose shape the path has. It returns false
// when one of them would be empty, which the router allows.
func (r *Request) capture(l *leaf) bool {
	r.params = r.params[:0]
	for _, i := range l.params {
		text := r.target.raw(i)
		if len(text) == 0 {
			return false
		}
		r.params = append(r.params, text)
	}
	return true
}

// captureSegments is capture for any path, and a leaf that the tree found.
func (r *Request) captureSegments(l *leaf) {
	r.params = r.params[:0]
	n := len(l.params)
	if l.rest {
		n--
	}
	for _, i := range l.params[:n] {
		r.params = append(r.params, r.segment(i))
	}
	if l.rest {
		r.params = append(r.params, r.tail(l.params[n]))
	}
}

// tail is the path from segment number from on, decoded; empty when it has fewer.
func (r *Request) tail(from int) []byte {
	t := &r.target
	if from >= len(t.slashes) {
		return t.trimmed[len(t.trimmed):]
	}
	return r.decoded(t.trimmed[t.slashes[from]+1:], false)
}
