package matcher

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// shards contains routers for the paths without parameters.
//
// A router compares a path with one route after another, and sorts all routes whenever one is
// added; with thousands of routes both are slow. Therefore many paths are distributed over many
// routers, which are selected by a hash of the path.
type shards struct {
	routers []*router.Router // the length is a power of two, or 0 if there are no paths; unused ones are nil
	seed    maphash.Seed
}

// path is a sequence of literals, for the routers.
type path struct {
	segments []Segment
	node     *node // set while the tree is being built
	leaves   *leaf // leaves of the node
}

// fewPaths is how many paths a single router can contain without becoming slower.
const fewPaths = 8

// found receives the leaf that a router's handler represents. A handler gets only a fasthttp
// context; ctx exists for that purpose and contains no request.
type found struct {
	ctx  fasthttp.RequestCtx
	leaf *leaf
}

// foundKey is the key under which the context stores the found that it belongs to. It is a pointer,
// so that comparing it is cheap.
var foundKey = new(byte)

// founds holds those that no request has.
var founds = sync.Pool{New: func() any {
	f := new(found)
	f.ctx.SetUserValue(foundKey, f)
	return f
}}

// Shrink gives up memory that r needs only while it is matched, for a request that waits.
func (r *Request) Shrink() {
	if r.found != nil {
		founds.Put(r.found)
		r.found = nil
	}
}

// call returns the leaf that handler represents.
func (r *Request) call(handler fasthttp.RequestHandler) *leaf {
	if r.found == nil {
		r.found = founds.Get().(*found)
	}
	handler(&r.found.ctx)
	l := r.found.leaf
	r.found.leaf = nil
	return l
}

// lookup looks up the leaf of r's path, which must not contain percent-encoding, in a router. It
// returns nil if there is none.
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

func (s *shards) index(path string) int {
	if len(s.routers) == 1 {
		return 0
	}
	return int(maphash.String(s.seed, path) & uint64(len(s.routers)-1))
}

// newShards registers paths, except those that a router would interpret differently.
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

// register registers l in the router under path. The router panics if it rejects the path; then the
// leaf is only in the tree.
func register(rt *router.Router, path string, l *leaf) {
	if l.method == router.MethodWild {
		return // the router would interpret it as every method
	}
	defer func() { _ = recover() }()
	rt.Handle(l.method, path, func(ctx *fasthttp.RequestCtx) { ctx.UserValue(foundKey).(*found).leaf = l })
}
