package matcher

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// bucket finds the leaf of a path with a certain number of segments.
//
// A router compares a path with one route after the other and sorts all of them
// whenever one is added, so that thousands in one make both slow. A bucket of
// many shapes therefore has many routers, chosen by a hash of the segments that
// differ most.
type bucket struct {
	routers []*router.Router // a power of two of them, nil where unused; none for an empty bucket
	keys    []int            // the segments that choose the router; nil for one router
	seed    maphash.Seed
}

const (
	// fewShapes is how many shapes one router takes without being slower.
	fewShapes = 8
	// manyShapes is how many it takes at most, so that compiling stays linear; what
	// is beyond it is left to the tree.
	manyShapes = 128
)

// foundKey is where a router's handler leaves the leaf it stands for. A pointer,
// so that comparing it costs nothing.
var foundKey = new(byte)

// lookup asks the router for the leaf of r's path, which has no percent-encoding;
// nil when it knows none.
func (s *site) lookup(r *Request, method string) *leaf {
	n := len(r.target.slashes)
	if n >= len(s.buckets) || s.buckets[n].routers == nil {
		return nil
	}
	b := &s.buckets[n]
	chosen := b.routers[0]
	if b.keys != nil {
		chosen = b.routers[b.hash(&r.target)&uint64(len(b.routers)-1)]
	}
	if chosen == nil {
		return nil
	}
	path := unsafe.String(unsafe.SliceData(r.target.trimmed), len(r.target.trimmed))
	found, _ := chosen.Lookup(method, path, nil)
	if found == nil {
		return nil
	}
	found(r.Ctx)
	l, _ := r.Ctx.UserValue(foundKey).(*leaf)
	return l
}

// hash is the hash of the segments of a path that choose the router.
func (b *bucket) hash(t *target) uint64 {
	var h uint64
	for _, k := range b.keys {
		h = bits.RotateLeft64(h, 31) ^ maphash.Bytes(b.seed, t.raw(k))
	}
	return h
}

// hashShape is the hash of every path that has the shape.
func (b *bucket) hashShape(segments []segment) uint64 {
	var h uint64
	for _, k := range b.keys {
		h = bits.RotateLeft64(h, 31) ^ maphash.String(b.seed, segments[k].text)
	}
	return h
}

// finish builds the routers once all routes are in the tree.
func (s *site) finish() {
	var groups [][]*shape
	for _, sh := range s.shapes {
		n := len(sh.segments)
		for len(groups) <= n {
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], sh)
	}
	s.buckets = make([]bucket, len(groups))
	for n, shapes := range groups {
		s.buckets[n].fill(shapes)
	}
	s.root.judge()
	for _, sh := range s.shapes {
		direct := s.root.direct(sh.segments)
		for _, l := range sh.node.leaves {
			l.direct = direct
		}
		sh.node.shape = nil
	}
	s.shapes = nil
}

// fill registers shapes, all of one number of segments. Those it leaves out are
// marked unsure.
func (b *bucket) fill(shapes []*shape) {
	if len(shapes) == 0 {
		return
	}
	b.seed = maphash.MakeSeed()
	count := 1
	if len(shapes) > fewShapes {
		var spread int
		b.keys, spread = chooseKeys(shapes)
		count = 1 << bits.Len(uint(spread/2))
	}
	b.routers = make([]*router.Router, count)
	taken := make([]int, count)
	known := map[[2]string]bool{}
	for _, sh := range shapes {
		path, ok := b.routerPath(sh.segments)
		i := b.hashShape(sh.segments) & uint64(count-1)
		if !ok || taken[i] >= manyShapes {
			sh.node.unsure = true
			continue
		}
		if taken[i]++; b.routers[i] == nil {
			b.routers[i] = router.New()
		}
		for _, l := range sh.node.leaves {
			if key := [2]string{l.method, path}; !known[key] {
				known[key] = true
				sh.node.unsure = !register(b.routers[i], path, l) || sh.node.unsure
			}
		}
	}
}

// chooseKeys returns one or two segments that tell shapes apart best, and into
// how many groups they do. Shapes that have a parameter there cannot be
// registered; the second segment is a literal in all the others.
func chooseKeys(shapes []*shape) (keys []int, spread int) {
	first, spread := -1, 0
	for k := range shapes[0].segments {
		texts := map[string]bool{}
		for _, sh := range shapes {
			if sh.segments[k].kind == literalSegment {
				texts[sh.segments[k].text] = true
			}
		}
		if len(texts) > spread {
			first, spread = k, len(texts)
		}
	}
	if first < 0 {
		return nil, 0
	}
	if len(shapes)/spread <= fewShapes {
		return []int{first}, spread
	}
	second := -1
	for k := range shapes[0].segments {
		if n := countPairs(shapes, first, k); n > spread {
			second, spread = k, n
		}
	}
	switch {
	case second < 0:
		return []int{first}, spread
	case second < first:
		return []int{second, first}, spread
	}
	return []int{first, second}, spread
}

// countPairs is how many different pairs of texts the segments a and b have, 0
// when b is not a literal wherever a is one.
func countPairs(shapes []*shape, a, b int) int {
	pairs := map[[2]string]bool{}
	for _, sh := range shapes {
		if sh.segments[a].kind != literalSegment {
			continue
		}
		if sh.segments[b].kind != literalSegment {
			return 0
		}
		pairs[[2]string{sh.segments[a].text, sh.segments[b].text}] = true
	}
	return len(pairs)
}

// routerPath is a shape as the router writes it. It returns false for a shape
// that the router would read in another way, or that cannot be in this bucket.
func (b *bucket) routerPath(segments []segment) (string, bool) {
	for _, k := range b.keys {
		if segments[k].kind != literalSegment {
			return "", false
		}
	}
	var path strings.Builder
	for i := range segments {
		path.WriteByte('/')
		switch text := segments[i].text; {
		case segments[i].kind != literalSegment:
			path.WriteString("{p}")
		case !registrable(text):
			return "", false
		default:
			path.WriteString(text)
		}
	}
	if path.Len() == 0 {
		return "/", true
	}
	return path.String(), true
}

// registrable tells whether the router takes a literal letter by letter: it has a
// meaning of its own for braces and compares characters, not bytes. A slash or a
// percent sign can only have been encoded, and such paths are the tree's.
func registrable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || strings.IndexByte("{}/%?", c) >= 0 {
			return false
		}
	}
	return text != ""
}

// register makes the router find l by path. The router refuses by panicking; then
// the tree alone knows the leaf, and register returns false.
func register(rt *router.Router, path string, l *leaf) (ok bool) {
	if l.method == router.MethodWild {
		return false // to the router it means every method
	}
	defer func() { ok = recover() == nil }()
	rt.Handle(l.method, path, func(ctx *fasthttp.RequestCtx) { ctx.SetUserValue(foundKey, l) })
	return
}

// judge works out unsure for n and everything below it.
func (n *node) judge() bool {
	for _, c := range n.literals {
		if c.judge() {
			n.literalUnsure = true
		}
	}
	n.unsure = n.unsure || n.literalUnsure || n.rest != nil ||
		len(n.literals) > 0 && (n.typed != nil || n.text != nil)
	for _, c := range []*node{n.typed, n.text} {
		if c != nil && c.judge() {
			n.unsure = true
		}
	}
	return n.unsure
}

// direct tells whether the shape is the most specific for every path that the
// router finds it by: wherever it takes a parameter there is no parameter of the
// other kind, which the router cannot tell apart, and nothing below the literals
// beside it that the router might overlook.
func (n *node) direct(segments []segment) bool {
	for i := range segments {
		if segments[i].kind != literalSegment && (n.literalUnsure || n.typed != nil && n.text != nil) {
			return false
		}
		n = n.child(&segments[i])
	}
	return true
}
