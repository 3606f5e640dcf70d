package matcher

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// shards are routers that know the paths without parameters.
//
// A router compares a path with one route after the other and sorts all of them
// whenever one is added, so that thousands in one make both slow. Many paths
// therefore have many routers, chosen by a hash of the path.
type shards struct {
	routers []*router.Router // a power of two of them, nil where unused; none without paths
	seed    maphash.Seed
}

// fewPaths is how many paths one router takes without being slower.
const fewPaths = 8

// found takes the leaf that a router's handler stands for. A handler is called with a
// fasthttp context alone: this one is made for that, and no request is in it.
type found struct {
	ctx  fasthttp.RequestCtx
	leaf *leaf
}

// foundKey is where the context keeps the found it belongs to. A pointer, so that
// comparing it costs nothing.
var foundKey = new(byte)

// call returns the leaf that handler stands for.
func (r *Request) call(handler fasthttp.RequestHandler) *leaf {
	if r.found == nil {
		r.found = new(found)
		r.found.ctx.SetUserValue(foundKey, r.found)
	}
	handler(&r.found.ctx)
	l := r.found.leaf
	r.found.leaf = nil
	return l
}

// lookup asks a router for the leaf of r's path, which has no percent-encoding;
// nil when it knows none.
func (s *shards) lookup(r *Request, method string) *leaf {
	if len(s.routers) == 0 {
		return nil
	}
	path := unsafe.String(unsafe.SliceData(r.target.trimmed), len(r.target.trimmed))
	chosen := s.routers[s.index(path)]
	if chosen == nil {
		return nil
	}
	handler, _ := chosen.Lookup(method, path, nil)
	if handler == nil {
		return nil
	}
	return r.call(handler)
}

// index is which router knows a path, if any does.
func (s *shards) index(path string) int {
	if len(s.routers) == 1 {
		return 0
	}
	return int(maphash.String(s.seed, path) & uint64(len(s.routers)-1))
}

// newShards registers paths, but for those that a router would read in another way.
func newShards(paths []path) shards {
	paths = slices.DeleteFunc(paths, func(p path) bool {
		return slices.ContainsFunc(p.segments, func(s Segment) bool { return !registrable(s.text) })
	})
	if len(paths) == 0 {
		return shards{}
	}
	count := 1
	if len(paths) > fewPaths {
		count = 1 << bits.Len(uint(len(paths)))
	}
	s := shards{routers: make([]*router.Router, count), seed: maphash.MakeSeed()}
	for _, p := range paths {
		path := written(p.segments)
		chosen := &s.routers[s.index(path)]
		if *chosen == nil {
			*chosen = router.New()
		}
		for l := p.leaves; l != nil; l = l.next {
			register(*chosen, path, l)
		}
	}
	return s
}

// written is a path as the router takes it.
func written(segments []Segment) string {
	if len(segments) == 0 {
		return "/"
	}
	var path strings.Builder
	for i := range segments {
		path.WriteByte('/')
		path.WriteString(segments[i].text)
	}
	return path.String()
}

// registrable reports whether the router takes a literal letter by letter: it has a
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
// the tree alone knows the leaf.
func register(rt *router.Router, path string, l *leaf) {
	if l.method == router.MethodWild {
		return // to the router it means every method
	}
	defer func() { _ = recover() }()
	rt.Handle(l.method, path, func(ctx *fasthttp.RequestCtx) { ctx.UserValue(foundKey).(*found).leaf = l })
}
