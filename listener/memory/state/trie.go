package state

import (
	"math/bits"
	"slices"
)

// A trie is a persistent map from numbers to leaves: a change copies the nodes on the path to its
// leaf and shares all other nodes. The zero value is empty.
//
// It also counts rows. If the numbers below n are rows of a base, and each leaf removes, adds or
// only changes a row, then at finds the k-th live row, and rank finds the number of rows before a
// row, without looking at every row.
//
// Changes with one owner, a number that no other changes have, modify the nodes that earlier
// changes with that owner have made, instead of copying them again. Until these changes are
// complete, no other code may use the trie. 0 means no owner.
type trie[T leaf] struct {
	root  *node[T]
	shift uint // shift of the root, which covers the numbers below 32<<shift
}

// leaf is an entry of a trie.
type leaf interface {
	comparable
	path() uint64 // the number of the leaf
	count() int   // 1: an additional row; -1: a row of the base that is gone; 0: a changed row
}

// fan is the number of bits that a node branches on.
const fan = 5

// node holds up to 32 slots; empty slots take no memory. A leaf is in the highest node in which no
// other leaf needs the same slot.
type node[T leaf] struct {
	used  uint32 // a bit for each slot that is not empty
	delta int32  // the sum of count of all leaves below
	owner uint64 // owner of the changes that made the node
	slots []slot[T]
}

// own returns the node, or a copy of it, that the owner may modify.
func (n *node[T]) own(owner uint64) *node[T] {
	if owner != 0 && n.owner == owner {
		return n
	}
	return &node[T]{used: n.used, delta: n.delta, owner: owner, slots: slices.Clone(n.slots)}
}

// slot is a node or, if kid is nil, a leaf.
type slot[T leaf] struct {
	kid  *node[T]
	leaf T
}

func (s slot[T]) count() int {
	if s.kid != nil {
		return int(s.kid.delta)
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

// with returns a trie that also contains the leaf, in place of any leaf with the same number.
func (t trie[T]) with(l T, owner uint64) trie[T] {
	path := l.path()
	t.reach(path)
	t.root = t.root.with(l, path, t.shift, owner)
	return t
}

// reach makes the root cover a number.
func (t *trie[T]) reach(path uint64) {
	if t.root == nil {
		t.root, t.shift = &node[T]{}, 0
	}
	for path>>t.shift>>fan != 0 {
		if t.root.used != 0 {
			t.root = &node[T]{used: 1, delta: t.root.delta, slots: []slot[T]{{kid: t.root}}}
		}
		t.shift += fan
	}
}

func (n *node[T]) with(l T, path uint64, shift uint, owner uint64) *node[T] {
	bit, i := n.place(path, shift)
	if n.used&bit == 0 {
		return n.insert(bit, i, slot[T]{leaf: l}, owner)
	}
	c := n.own(owner)
	s := &c.slots[i]
	before := s.count()
	switch {
	case s.kid != nil:
		s.kid = s.kid.with(l, path, shift-fan, owner)
	case s.leaf.path() == path:
		s.leaf = l
	default:
		kid := (&node[T]{owner: owner}).with(s.leaf, s.leaf.path(), shift-fan, owner).with(l, path, shift-fan, owner)
		*s = slot[T]{kid: kid}
	}
	c.delta += int32(s.count() - before)
	return c
}

// insert returns the node with s in a slot that was empty.
func (n *node[T]) insert(bit uint32, i int, s slot[T], owner uint64) *node[T] {
	if owner != 0 && n.owner == owner {
		n.used |= bit
		n.delta += int32(s.count())
		n.slots = slices.Insert(n.slots, i, s)
		return n
	}
	c := &node[T]{used: n.used | bit, delta: n.delta + int32(s.count()), owner: owner, slots: make([]slot[T], len(n.slots)+1)}
	copy(c.slots, n.slots[:i])
	c.slots[i] = s
	copy(c.slots[i+1:], n.slots[i:])
	return c
}

// withBlock returns a trie that also contains block, a lowest-level node with two or more leaves
// whose numbers begin at low. The trie must have no leaves there yet.
func (t trie[T]) withBlock(block *node[T], low uint64) trie[T] {
	t.reach(low)
	if t.shift == 0 {
		t.root = block
		return t
	}
	t.root = t.root.withBlock(block, low, t.shift)
	return t
}

func (n *node[T]) withBlock(block *node[T], low uint64, shift uint) *node[T] {
	bit, i := n.place(low, shift)
	if n.used&bit == 0 {
		kid := block
		for at := uint(fan); at < shift; at += fan { // the nodes on the path to the block
			bit, _ := kid.place(low, at)
			kid = &node[T]{used: bit, delta: kid.delta, slots: []slot[T]{{kid: kid}}}
		}
		return n.insert(bit, i, slot[T]{kid: kid}, 0)
	}
	c := n.own(0)
	s := &c.slots[i]
	if s.kid == nil { // a leaf elsewhere below
		*s = slot[T]{kid: (&node[T]{}).with(s.leaf, s.leaf.path(), shift-fan, 0)}
	}
	s.kid = s.kid.withBlock(block, low, shift-fan)
	c.delta += block.delta
	return c
}

// without returns a trie without the leaf with a number.
func (t trie[T]) without(path, owner uint64) trie[T] {
	if t.root == nil || path>>t.shift>>fan != 0 {
		return t
	}
	t.root = t.root.without(path, t.shift, owner)
	return t
}

// without returns the node without the leaf with a number, or nil if no leaf is left.
func (n *node[T]) without(path uint64, shift uint, owner uint64) *node[T] {
	bit, i := n.place(path, shift)
	if n.used&bit == 0 {
		return n
	}
	s := n.slots[i]
	if s.kid == nil {
		if s.leaf.path() != path {
			return n
		}
		return n.remove(bit, i, s.count(), owner)
	}
	before := s.count()
	kid := s.kid.without(path, shift-fan, owner)
	switch {
	case kid == nil:
		return n.remove(bit, i, before, owner)
	case kid == s.kid && s.count() == before && (owner == 0 || kid.owner != owner):
		return n
	}
	c := n.own(owner)
	if len(kid.slots) == 1 && kid.slots[0].kid == nil {
		c.slots[i] = kid.slots[0]
	} else {
		c.slots[i] = slot[T]{kid: kid}
	}
	c.delta += int32(c.slots[i].count() - before)
	return c
}

// remove returns the node without a slot, which had the given count, or nil if there is no other
// slot.
func (n *node[T]) remove(bit uint32, i, count int, owner uint64) *node[T] {
	switch {
	case len(n.slots) == 1:
		return nil
	case owner != 0 && n.owner == owner:
		n.used &^= bit
		n.delta -= int32(count)
		n.slots = slices.Delete(n.slots, i, i+1)
		return n
	}
	return &node[T]{used: n.used &^ bit, delta: n.delta - int32(count), owner: owner,
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

// size returns the number of rows if the base has n.
func (t trie[T]) size(n int) int {
	if t.root != nil {
		n += int(t.root.delta)
	}
	return n
}

// below returns how many of the n rows of a base have numbers from low to low+span-1.
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
	if inside := below(n, 0, 1<<fan<<t.shift) + int(t.root.delta); k >= inside {
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

// reach returns the slot that contains the k-th row of the node, the first number of that slot, and
// how many rows of the slot come before that row. The slot is nil if it is empty.
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
		return rank + int(t.root.delta)
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
