package state

import (
	"math/bits"
	"slices"
)

// A trie is a persistent map from numbers to leaves: a change copies the nodes on the way to its leaf
// and shares all others. The zero value is empty.
//
// It also counts. If the numbers below n are rows of a base, and a leaf takes one away, adds one or
// only changes it, then at and rank find the k-th live row, and how many are before a row, without
// looking at each.
type trie[T leaf] struct {
	root  *node[T]
	shift uint // of the root: it covers the numbers below 32<<shift
}

// leaf is what a trie holds.
type leaf interface {
	comparable
	path() uint64 // its number
	count() int   // 1: an additional row; -1: a row of the base that is gone; 0: one that is changed
}

// fan is the number of bits that a node decides.
const fan = 5

// node holds up to 32 slots; those that are empty take no memory. A leaf stands in the highest node
// in which no other leaf takes its slot.
type node[T leaf] struct {
	used  uint32 // a bit for each slot that is not empty
	delta int    // the sum of count of all leaves below
	slots []slot[T]
}

// slot is a node or, if kid is nil, a leaf.
type slot[T leaf] struct {
	kid  *node[T]
	leaf T
}

func (s slot[T]) count() int {
	if s.kid != nil {
		return s.kid.delta
	}
	return s.leaf.count()
}

// place returns the bit of a number in a node, and the index of its slot.
func (n *node[T]) place(path uint64, shift uint) (bit uint32, i int) {
	bit = 1 << (path >> shift & (1<<fan - 1))
	return bit, bits.OnesCount32(n.used & (bit - 1))
}

// get returns the leaf with a number, or the zero value.
func (t trie[T]) get(path uint64) T {
	var none T
	n, shift := t.root, t.shift
	if n == nil || path>>shift>>fan != 0 {
		return none
	}
	for {
		bit, i := n.place(path, shift)
		switch {
		case n.used&bit == 0:
			return none
		case n.slots[i].kid == nil:
			if found := n.slots[i].leaf; found.path() == path {
				return found
			}
			return none
		}
		n = n.slots[i].kid
		shift -= fan
	}
}

// with returns a trie that has the leaf, in place of one with the same number.
func (t trie[T]) with(l T) trie[T] {
	path := l.path()
	if t.root == nil {
		t.root = &node[T]{}
		t.shift = 0
	}
	for path>>t.shift>>fan != 0 {
		if t.root.used != 0 {
			t.root = &node[T]{used: 1, delta: t.root.delta, slots: []slot[T]{{kid: t.root}}}
		}
		t.shift += fan
	}
	t.root = t.root.with(l, path, t.shift)
	return t
}

func (n *node[T]) with(l T, path uint64, shift uint) *node[T] {
	bit, i := n.place(path, shift)
	if n.used&bit == 0 {
		c := &node[T]{used: n.used | bit, delta: n.delta + l.count(), slots: make([]slot[T], len(n.slots)+1)}
		copy(c.slots, n.slots[:i])
		c.slots[i].leaf = l
		copy(c.slots[i+1:], n.slots[i:])
		return c
	}
	c := &node[T]{used: n.used, slots: slices.Clone(n.slots)}
	s := &c.slots[i]
	before := s.count()
	switch {
	case s.kid != nil:
		s.kid = s.kid.with(l, path, shift-fan)
	case s.leaf.path() == path:
		s.leaf = l
	default:
		kid := (&node[T]{}).with(s.leaf, s.leaf.path(), shift-fan).with(l, path, shift-fan)
		*s = slot[T]{kid: kid}
	}
	c.delta = n.delta + s.count() - before
	return c
}

// without returns a trie that lacks the leaf with a number.
func (t trie[T]) without(path uint64) trie[T] {
	if t.root == nil || path>>t.shift>>fan != 0 {
		return t
	}
	t.root = t.root.without(path, t.shift)
	return t
}

// without returns nil for an empty node.
func (n *node[T]) without(path uint64, shift uint) *node[T] {
	bit, i := n.place(path, shift)
	if n.used&bit == 0 {
		return n
	}
	s := n.slots[i]
	if s.kid == nil {
		if s.leaf.path() != path {
			return n
		}
		return n.remove(bit, i)
	}
	kid := s.kid.without(path, shift-fan)
	if kid == s.kid {
		return n
	}
	if kid == nil {
		return n.remove(bit, i)
	}
	c := &node[T]{used: n.used, delta: n.delta - s.count(), slots: slices.Clone(n.slots)}
	if len(kid.slots) == 1 && kid.slots[0].kid == nil {
		c.slots[i] = kid.slots[0]
	} else {
		c.slots[i] = slot[T]{kid: kid}
	}
	c.delta += c.slots[i].count()
	return c
}

func (n *node[T]) remove(bit uint32, i int) *node[T] {
	if len(n.slots) == 1 {
		return nil
	}
	return &node[T]{used: n.used &^ bit, delta: n.delta - n.slots[i].count(),
		slots: slices.Concat(n.slots[:i], n.slots[i+1:])}
}

// each calls f for all leaves in the order of their numbers, until it returns false.
func (t trie[T]) each(f func(T) bool) bool { return t.root == nil || t.root.each(f) }

func (n *node[T]) each(f func(T) bool) bool {
	for _, s := range n.slots {
		if s.kid != nil && !s.kid.each(f) || s.kid == nil && !f(s.leaf) {
			return false
		}
	}
	return true
}

// size returns how many rows there are, of n in the base.
func (t trie[T]) size(n int) int {
	if t.root != nil {
		n += t.root.delta
	}
	return n
}

// below returns how many of n rows of a base have numbers from low to low+span-1.
func below(n int, low, span uint64) int {
	switch {
	case low >= uint64(n):
		return 0
	case span > uint64(n)-low:
		return n - int(low)
	}
	return int(span)
}

// at returns the number of the k-th row, counted from 0, which must exist.
func (t trie[T]) at(n, k int) uint64 {
	if t.root == nil {
		return uint64(k)
	}
	if inside := below(n, 0, 1<<fan<<t.shift) + t.root.delta; k >= inside {
		return 1<<fan<<t.shift + uint64(k-inside)
	}
	at, low := t.root, uint64(0)
	for shift := t.shift; ; shift -= fan {
		s, slotLow, left := at.reach(n, k, low, shift)
		if s == nil {
			return slotLow + uint64(left)
		}
		if s.kid == nil {
			return inLeaf(s.leaf, n, left, slotLow)
		}
		at, low, k = s.kid, slotLow, left
	}
}

// reach returns the slot of a node in which the k-th row of the node is, the first number of the
// slot, and how many rows of the slot are before. The slot is nil if it is empty.
func (n *node[T]) reach(rows, k int, low uint64, shift uint) (s *slot[T], slotLow uint64, left int) {
	span := uint64(1) << shift
	i := 0
	for j := uint64(0); ; j++ {
		s, slotLow = nil, low+j*span
		live := below(rows, slotLow, span)
		if n.used&(1<<j) != 0 {
			s = &n.slots[i]
			live += s.count()
			i++
		}
		if k < live {
			return s, slotLow, k
		}
		k -= live
	}
}

// inLeaf returns the number of the k-th row of a slot with a single leaf.
func inLeaf[T leaf](l T, n, k int, low uint64) uint64 {
	at := low + uint64(k)
	switch {
	case l.count() < 0 && at >= l.path():
		return at + 1
	case l.count() > 0 && at >= uint64(n):
		return l.path()
	}
	return at
}

// rank returns how many rows have numbers below path.
func (t trie[T]) rank(n int, path uint64) int {
	rank := below(n, 0, path)
	if t.root == nil {
		return rank
	}
	if path>>t.shift>>fan != 0 {
		return rank + t.root.delta
	}
	at, shift := t.root, t.shift
	for {
		bit, i := at.place(path, shift)
		for _, s := range at.slots[:i] {
			rank += s.count()
		}
		if at.used&bit == 0 {
			return rank
		}
		s := at.slots[i]
		if s.kid == nil {
			if s.leaf.path() < path {
				rank += s.leaf.count()
			}
			return rank
		}
		at = s.kid
		shift -= fan
	}
}
