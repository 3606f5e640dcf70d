package matcher

import (
	"hash/maphash"
	"unsafe"
)

// Thousands of endpoints asked in turn are in no cache: what a request of theirs costs is
// how many places in memory it reads. So a site that is complete is moved into a few pieces
// of memory, where what is read one after the other stands together.

// literals are the literal children of a node, by their labels.
type literals struct {
	slots []slot // a power of two, half of them at most taken
	count int
}

// slot is a child and a part of its label's hash; the zero slot is free.
type slot struct {
	hash uint64
	node *node
}

// labelSeed is what labels are hashed with.
var labelSeed = maphash.MakeSeed()

func newLiterals() *literals { return &literals{slots: make([]slot, 8)} }

// find returns the child of that label, or nil.
func (l *literals) find(label []byte) *node {
	hash, most := maphash.Bytes(labelSeed, label), uint64(len(l.slots)-1)
	for i := hash; ; i++ {
		switch s := &l.slots[i&most]; {
		case s.node == nil:
			return nil
		case s.hash == hash && s.node.label == string(label):
			return s.node
		}
	}
}

// add adds a child whose label none has.
func (l *literals) add(c *node) {
	if l.count++; 2*l.count > len(l.slots) {
		old := l.slots
		l.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.node != nil {
				l.put(s)
			}
		}
	}
	l.put(slot{maphash.String(labelSeed, c.label), c})
}

func (l *literals) put(s slot) {
	i, most := s.hash, uint64(len(l.slots)-1)
	for l.slots[i&most].node != nil {
		i++
	}
	l.slots[i&most] = s
}

// room is what a packed site is in.
type room struct {
	nodes []packedNode
	ends  []packedLeaf
	moved map[*leaf]*leaf
}

// packedNode is a node with its label. What it leads to follows it.
type packedNode struct {
	node
	name [32]byte // the label, if it is as short
}

// packedLeaf is a leaf with its first parameters and its first route.
type packedLeaf struct {
	leaf
	param [2]int
	entry [1]entry
}

// pack moves the site, which is complete.
func (s *site) pack() {
	r := room{nodes: make([]packedNode, 0, s.root.size()), ends: make([]packedLeaf, 0, len(s.leaves)), moved: make(map[*leaf]*leaf, len(s.leaves))}
	s.root = r.node(s.root)
	for i, l := range s.leaves {
		s.leaves[i] = r.moved[l]
	}
	for i := range s.paths {
		p := &s.paths[i]
		p.leaves, p.node = r.moved[p.node.leaves], nil
	}
}

// size is how many nodes there are from n on.
func (n *node) size() int {
	if n == nil {
		return 0
	}
	size := 1 + n.only.size() + n.typed.size() + n.text.size()
	if n.literals != nil {
		for _, s := range n.literals.slots {
			size += s.node.size()
		}
	}
	return size
}

func (r *room) node(n *node) *node {
	if n == nil {
		return nil
	}
	r.nodes = append(r.nodes, packedNode{node: *n})
	p := &r.nodes[len(r.nodes)-1]
	if len(n.label) <= len(p.name) {
		copy(p.name[:], n.label)
		p.label = unsafe.String(&p.name[0], len(n.label))
	}
	p.leaves, p.rest = r.leaf(n.leaves), r.leaf(n.rest)
	p.only, p.typed, p.text = r.node(n.only), r.node(n.typed), r.node(n.text)
	if n.literals != nil {
		for i := range n.literals.slots {
			s := &n.literals.slots[i]
			s.node = r.node(s.node)
		}
	}
	return &p.node
}

func (r *room) leaf(l *leaf) *leaf {
	if l == nil {
		return nil
	}
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
	p.next = r.leaf(l.next)
	r.moved[l] = &p.leaf
	return &p.leaf
}
