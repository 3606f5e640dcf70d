package matcher

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"unsafe"
)

// If thousands of endpoints are requested in turn, they do not stay in any CPU cache: the cost of a
// request is the number of memory locations that it reads. Therefore a complete site is moved into
// a few blocks of memory, in which data that is read in sequence is adjacent.

// literals contains the literal children of a node, keyed by their labels.
type literals struct {
	children map[string]*node // while the tree is being built
	slots    []slot           // a power of two; at most three quarters are occupied
	nodes    []packedNode     // nodes of the site
}

// slot is a child: a part of its label's hash, and its index in the nodes, from 1. The zero slot is
// free.
type slot struct{ hash, at uint32 }

// labelSeed is the seed of the hashes of labels.
var labelSeed = maphash.MakeSeed()

// find returns the child with a label, or nil.
func (l *literals) find(label []byte) *node {
	if l.slots == nil {
		return l.children[string(label)]
	}
	hash, most := maphash.Bytes(labelSeed, label), uint64(len(l.slots)-1)
	for i := hash; ; i++ {
		s := l.slots[i&most]
		if s.at == 0 {
			return nil
		}
		if s.hash == uint32(hash>>32) {
			if n := &l.nodes[s.at-1].node; n.label == string(label) {
				return n
			}
		}
	}
}

// pack builds the slots of the children, and schedules the children to be moved.
func (l *literals) pack(r *room) {
	size := 4
	for 3*size < 4*len(l.children) {
		size *= 2
	}
	l.nodes = r.nodes[:cap(r.nodes)]
	slots, most := make([]slot, size), uint64(size-1)
	for label, child := range l.children {
		hash := maphash.String(labelSeed, label)
		i := hash & most
		for slots[i].at > 0 {
			i = (i + 1) & most
		}
		slots[i] = slot{uint32(hash >> 32), math.MaxUint32} // until it is moved
		r.todo = append(r.todo, unmoved{node: child, slot: &slots[i]})
	}
	l.slots, l.children = slots, nil
}

// quick is the only route of the first leaf, if it demands nothing except its shape and method. It
// answers without accessing the leaf.
type quick struct {
	method string // "" if there is no such route
	index  int32
	count  uint8 // number of params
	params [3]uint8
}

func quickOf(l *leaf) (q quick) {
	if l == nil || l.rest || len(l.entries) != 1 || l.entries[0].demands != &demandless || len(l.params) > len(q.params) || l.entries[0].index > math.MaxInt32 {
		return q
	}
	for i, at := range l.params {
		if at > math.MaxUint8 {
			return quick{}
		}
		q.params[i] = uint8(at)
	}
	q.method, q.index, q.count = l.method, int32(l.entries[0].index), uint8(len(l.params))
	return q
}

// room is the memory that a packed site is moved into.
type room struct {
	nodes []packedNode
	ends  []packedLeaf
	moved map[*leaf]*leaf
	todo  []unmoved // a stack
}

// unmoved is a node that must be moved, and the reference to it: a field or a slot.
type unmoved struct {
	node  *node
	field **node
	slot  *slot
}

// packedNode is a node with its label, two cache lines in size. The node that it leads to follows
// it.
type packedNode struct {
	node
	name [40]byte // the label, if it fits
}

// packedLeaf is a leaf with its first parameters and its first route.
type packedLeaf struct {
	leaf
	param [2]int
	entry [1]entry
}

// pack moves the site, which must be complete. A path may be as deep as it is long, so nothing here
// is recursive.
func (s *site) pack() {
	size := 0
	for todo := []*node{s.root}; len(todo) > 0; size++ {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, child := range [...]*node{n.only, n.typed, n.text} {
			if child != nil {
				todo = append(todo, child)
			}
		}
		if n.literals != nil {
			todo = slices.AppendSeq(todo, maps.Values(n.literals.children))
		}
	}
	r := room{nodes: make([]packedNode, 0, size), ends: make([]packedLeaf, 0, len(s.leaves)), moved: make(map[*leaf]*leaf, len(s.leaves))}
	r.todo = []unmoved{{node: s.root, field: &s.root}}
	for len(r.todo) > 0 {
		next := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.move(next)
	}
	for i, l := range s.leaves {
		s.leaves[i] = r.moved[l]
	}
	for i := range s.paths {
		p := &s.paths[i]
		p.leaves, p.node = r.moved[p.node.leaves], nil
	}
}

// move moves a node, and schedules its children; the child that is checked first is moved next.
func (r *room) move(next unmoved) {
	n := next.node
	r.nodes = append(r.nodes, packedNode{node: *n})
	p := &r.nodes[len(r.nodes)-1]
	if next.slot != nil {
		next.slot.at = uint32(len(r.nodes))
	} else {
		*next.field = &p.node
	}
	if len(n.label) <= len(p.name) {
		copy(p.name[:], n.label)
		p.label = unsafe.String(&p.name[0], len(n.label))
	}
	p.leaves, p.rest, p.quick = r.leaves(n.leaves), r.leaves(n.rest), quickOf(n.leaves)
	if n.literals != nil {
		n.literals.pack(r)
	}
	for _, at := range [...]**node{&p.text, &p.typed, &p.only} {
		if *at != nil {
			r.todo = append(r.todo, unmoved{node: *at, field: at})
		}
	}
}

// leaves moves a leaf and the leaves after it.
func (r *room) leaves(l *leaf) *leaf {
	for at := &l; *at != nil; at = &(*at).next {
		*at = r.leaf(*at)
	}
	return l
}

func (r *room) leaf(l *leaf) *leaf {
	r.ends = append(r.ends, packedLeaf{leaf: *l})
	p := &r.ends[len(r.ends)-1]
	if n := len(l.params); n <= len(p.param) {
		copy(p.param[:], l.params)
		p.params = p.param[:n:n]
	}
	if len(l.entries) == 1 {
		p.entry[0] = l.entries[0]
		p.entries = p.entry[:]
	}
	r.moved[l] = &p.leaf
	return &p.leaf
}
