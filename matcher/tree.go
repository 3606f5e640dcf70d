package matcher

import "mockserver/config/item"

// site contains the routes of one declared host, or the routes without a host.
//
// The tree of segments contains every route. The shards are fasthttp/router routers that contain
// the paths without parameters. Nothing is more specific than such a path, so a route found there
// answers; the tree is used for everything else.
type site struct {
	root   *node
	shards shards
	leaves []*leaf // in the order of their first declaration
	paths  []path  // paths without parameters; set only while compiling
}

// node is a node in the tree of segments. The fields that a request reads in most nodes come first,
// in one cache line.
type node struct {
	typed, text *node
	// only is the literal child, if there is exactly one: most segments ("api", "v1") leave no
	// choice, and a comparison costs less than a lookup.
	only     *node
	literals *literals // set if there are several
	quick    quick
	leaves   *leaf // the first leaf of the paths that end here

	rest  *leaf  // the first leaf of the paths with a catch-all from here on
	label string // the literal that leads here; "" if a parameter does
}

func newSite() *site { return &site{root: new(node)} }

// add adds route number index to the tree.
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
	} else if len(p.params) == 0 && n.leaves == nil {
		s.paths = append(s.paths, path{segments: segments, node: n})
	}
	l := s.leaf(at, r.Endpoint.EffectiveMethod(), &p)
	e := entry{index: index, demands: &demandless}
	if p.types != nil || p.mixed != nil || r.If != nil {
		e.demands = &demands{types: p.types, mixed: p.mixed, when: r.If}
	}
	l.entries = append(l.entries, e)
}

// child returns the node that segment leads to. It creates the node if it does not exist.
func (n *node) child(segment *Segment) *node {
	at := &n.text
	switch segment.kind {
	case literalSegment:
		if c := n.literal([]byte(segment.text)); c != nil {
			return c
		}
		c := &node{label: segment.text}
		switch {
		case n.literals != nil:
			n.literals.children[c.label] = c
		case n.only != nil:
			n.literals = &literals{children: map[string]*node{n.only.label: n.only, c.label: c}}
			n.only = nil
		default:
			n.only = c
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

// literal returns the node that a literal segment leads to, or nil.
func (n *node) literal(text []byte) *node {
	switch {
	case n.literals != nil:
		return n.literals.find(text)
	case n.only != nil && n.only.label == string(text):
		return n.only
	}
	return nil
}

// leaf returns the leaf of a method among those of a node. It creates the leaf if it does not
// exist.
func (s *site) leaf(at **leaf, method string, p *Pattern) *leaf {
	for ; *at != nil; at = &(*at).next {
		if (*at).method == method {
			return *at
		}
	}
	l := &leaf{method: method, rest: p.catchesAll()}
	for i := range p.segments {
		if p.segments[i].kind != literalSegment {
			l.params = append(l.params, i)
		}
	}
	*at = l
	s.leaves = append(s.leaves, l)
	return l
}

// match returns the route of this site that answers r, or -1. The target of r must have been split,
// and must be a path.
func (s *site) match(r *Request, method string) int {
	var tried *leaf
	if !r.target.escaped {
		if tried = s.shards.lookup(r, method); tried != nil {
			r.params = r.params[:0]
			if i := tried.match(r, false); i >= 0 {
				return i
			}
		}
	}
	return s.root.find(r, method, 0, tried)
}

// find returns the most specific route at or below n that answers r, whose first depth segments led
// to n, or -1. The leaf tried is skipped: its conditions did not hold, and might hold if they were
// evaluated again (random, counter).
func (n *node) find(r *Request, method string, depth int, tried *leaf) int {
	if depth == len(r.target.slashes) {
		if q := &n.quick; q.method == method && method != "" {
			return r.take(q)
		}
		if i := r.try(n.leaves, method, tried); i >= 0 {
			return i
		}
		return r.try(n.rest, method, tried)
	}
	text := r.segment(depth)
	if c := n.literal(text); c != nil {
		if i := c.find(r, method, depth+1, tried); i >= 0 {
			return i
		}
	}
	if n.typed != nil && len(text) > 0 {
		if i := n.typed.find(r, method, depth+1, tried); i >= 0 {
			return i
		}
	}
	if n.text != nil && len(text) > 0 {
		if i := n.text.find(r, method, depth+1, tried); i >= 0 {
			return i
		}
	}
	return r.try(n.rest, method, tried)
}

// try returns the route that answers r, or -1: the route from the leaf of method or, if that has
// none, from the leaf for any method. It skips the leaf tried.
func (r *Request) try(l *leaf, method string, tried *leaf) int {
	var anyMethod *leaf
	for ; l != nil; l = l.next {
		switch {
		case l.method == method && l != tried:
			r.capture(l)
			if i := l.match(r, false); i >= 0 {
				return i
			}
		case l.method == item.MethodAny:
			anyMethod = l
		}
	}
	if anyMethod == nil {
		return -1
	}
	r.capture(anyMethod)
	return anyMethod.match(r, false)
}

// take returns the route of q, and sets the parameters of r to its parameters.
func (r *Request) take(q *quick) int {
	r.params = r.params[:0]
	for _, i := range q.params[:q.count] {
		r.params = append(r.params, r.segment(int(i)))
	}
	return int(q.index)
}

// Segments returns the decoded segments of the path. ok is false for a target that is not a path
// ("*").
func (r *Request) Segments() (segments [][]byte, ok bool) {
	segments = make([][]byte, 0, len(r.parts().slashes))
	for i := range r.target.slashes {
		segments = append(segments, r.segment(i))
	}
	return segments, r.target.trimmed != nil
}

// Segment returns the i-th segment of the path, decoded, and reports whether it exists.
func (r *Request) Segment(i int) ([]byte, bool) {
	if r.parts(); i >= len(r.target.slashes) {
		return nil, false
	}
	return r.segment(i), true
}

// segment returns segment number i of the path, decoded.
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

// capture sets the parameters of r to those of l, whose shape the path must have.
func (r *Request) capture(l *leaf) {
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

// tail returns the path from segment number from on, decoded; empty if the path has fewer segments.
func (r *Request) tail(from int) []byte {
	t := &r.target
	if from >= len(t.slashes) {
		return t.trimmed[len(t.trimmed):]
	}
	return r.decoded(t.trimmed[t.slashes[from]+1:], false)
}

// visit calls f for every leaf at or below n that find would examine, for any method. The first depth
// segments of r led to n. During a call the parameters of r are those of the leaf.
func (n *node) visit(r *Request, depth int, f func(*leaf)) {
	if depth == len(r.target.slashes) {
		n.leaves.visit(r, f)
		n.rest.visit(r, f)
		return
	}
	text := r.segment(depth)
	if c := n.literal(text); c != nil {
		c.visit(r, depth+1, f)
	}
	if n.typed != nil && len(text) > 0 {
		n.typed.visit(r, depth+1, f)
	}
	if n.text != nil && len(text) > 0 {
		n.text.visit(r, depth+1, f)
	}
	n.rest.visit(r, f)
}

func (l *leaf) visit(r *Request, f func(*leaf)) {
	for ; l != nil; l = l.next {
		r.capture(l)
		f(l)
	}
}
