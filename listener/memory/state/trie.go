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
	shift uint // shift of the root, which covers the numbers below 16<<shift
}

// leaf is an entry of a trie.
type leaf interface {
	comparable
	path() uint64 // the number of the leaf
	count() int   // 1: an additional row; -1: a row of the base that is gone; 0: a changed row
}

// fan is the number of bits that a node branches on.
const fan = 4

// node holds up to 16 slots, each of them empty, a leaf or a node; empty slots take no memory. A
// leaf is in the highest node in which no other leaf needs the same slot.
type node[T leaf] struct {
	kidsAt   uint32 // a bit for each slot that is a node
	leavesAt uint32 // a bit for each slot that is a leaf
	delta    int32  // the sum of count of all leaves below
	owner    uint64 // owner of the changes that made the node
	kids     []*node[T]
	leaves   []T
}

// own returns the node, or a copy of it, that the owner may modify. A copy has room for the given
// numbers of further kids and leaves.
func (n *node[T]) own(owner uint64, kids, leaves int) *node[T] {
	if owner != 0 && n.owner == owner {
		return n
	}
	c := *n
	c.owner, c.kids, c.leaves = owner, grown(n.kids, kids), grown(n.leaves, leaves)
	return &c
}

func grown[E any](s []E, more int) []E {
	if len(s)+more == 0 {
		return nil
	}
	c := make([]E, len(s), len(s)+more)
	copy(c, s)
	return c
}

// bitOf returns the bit of a number in a node.
func bitOf(path uint64, shift uint) uint32 { return 1 << (path >> shift & (1<<fan - 1)) }

// before returns how many of the slots come before that of a bit.
func before(slots, bit uint32) int { return bits.OnesCount32(slots & (bit - 1)) }

// kid returns the node in the slot of a bit, which must be one.
func (n *node[T]) kid(bit uint32) *node[T] { return n.kids[before(n.kidsAt, bit)] }

// leaf returns the leaf in the slot of a bit, which must be one.
func (n *node[T]) leaf(bit uint32) T { return n.leaves[before(n.leavesAt, bit)] }

// count returns the sum of count of the leaves in the slot of a bit.
func (n *node[T]) count(bit uint32) int {
	switch {
	case n.kidsAt&bit != 0:
		return int(n.kid(bit).delta)
	case n.leavesAt&bit != 0:
		return n.leaf(bit).count()
	}
	return 0
}

// get returns the leaf with a number, or the zero value.
func (t trie[T]) get(path uint64) T {
	var none T
	n, shift := t.root, t.shift
	if n == nil || path>>shift>>fan != 0 {
		return none
	}
	for {
		bit := bitOf(path, shift)
		if n.kidsAt&bit == 0 {
			if n.leavesAt&bit != 0 {
				if found := n.leaf(bit); found.path() == path {
					return found
				}
			}
			return none
		}
		n = n.kid(bit)
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
		if t.root.kidsAt|t.root.leavesAt != 0 {
			t.root = above(t.root, 1)
		}
		t.shift += fan
	}
}

// above returns a node with a single kid.
func above[T leaf](kid *node[T], bit uint32) *node[T] {
	return &node[T]{kidsAt: bit, delta: kid.delta, kids: []*node[T]{kid}}
}

func (n *node[T]) with(l T, path uint64, shift uint, owner uint64) *node[T] {
	bit := bitOf(path, shift)
	was := n.count(bit)
	if n.kidsAt&bit != 0 {
		return n.setKid(bit, was, n.kid(bit).with(l, path, shift-fan, owner), owner)
	}
	if n.leavesAt&bit != 0 && n.leaf(bit).path() != path {
		old := n.leaf(bit)
		kid := (&node[T]{owner: owner}).with(old, old.path(), shift-fan, owner).with(l, path, shift-fan, owner)
		return n.setKid(bit, was, kid, owner)
	}
	return n.setLeaf(bit, was, l, owner)
}

// setLeaf returns the node with a leaf in a slot; was is the count of the slot's former content.
func (n *node[T]) setLeaf(bit uint32, was int, l T, owner uint64) *node[T] {
	i := before(n.leavesAt, bit)
	if n.leavesAt&bit != 0 {
		n = n.own(owner, 0, 0)
		n.leaves[i] = l
	} else {
		n = n.own(owner, 0, 1)
		n.clear(bit)
		n.leavesAt, n.leaves = n.leavesAt|bit, slices.Insert(n.leaves, i, l)
	}
	n.delta += int32(l.count() - was)
	return n
}

// setKid is like setLeaf, for a node.
func (n *node[T]) setKid(bit uint32, was int, kid *node[T], owner uint64) *node[T] {
	i := before(n.kidsAt, bit)
	if n.kidsAt&bit != 0 {
		n = n.own(owner, 0, 0)
		n.kids[i] = kid
	} else {
		n = n.own(owner, 1, 0)
		n.clear(bit)
		n.kidsAt, n.kids = n.kidsAt|bit, slices.Insert(n.kids, i, kid)
	}
	n.delta += kid.delta - int32(was)
	return n
}

// clear empties a slot.
func (n *node[T]) clear(bit uint32) {
	if i := before(n.kidsAt, bit); n.kidsAt&bit != 0 {
		n.kidsAt, n.kids = n.kidsAt&^bit, slices.Delete(n.kids, i, i+1)
	}
	if i := before(n.leavesAt, bit); n.leavesAt&bit != 0 {
		n.leavesAt, n.leaves = n.leavesAt&^bit, slices.Delete(n.leaves, i, i+1)
	}
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
	bit := bitOf(low, shift)
	was := n.count(bit)
	kid := block
	switch {
	case n.kidsAt&bit != 0:
		kid = n.kid(bit).withBlock(block, low, shift-fan)
	case n.leavesAt&bit != 0: // a leaf elsewhere below
		old := n.leaf(bit)
		kid = (&node[T]{}).with(old, old.path(), shift-fan, 0).withBlock(block, low, shift-fan)
	default:
		for at := uint(fan); at < shift; at += fan { // the nodes on the path to the block
			kid = above(kid, bitOf(low, at))
		}
	}
	return n.setKid(bit, was, kid, 0)
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
	bit := bitOf(path, shift)
	was := n.count(bit)
	switch {
	case n.kidsAt&bit != 0:
		old := n.kid(bit)
		switch kid := old.without(path, shift-fan, owner); {
		case kid == old && kid.delta == int32(was) && (owner == 0 || kid.owner != owner):
			return n
		case kid != nil && len(kid.kids) == 0 && len(kid.leaves) == 1:
			return n.setLeaf(bit, was, kid.leaves[0], owner)
		case kid != nil:
			return n.setKid(bit, was, kid, owner)
		}
	case n.leavesAt&bit == 0 || n.leaf(bit).path() != path:
		return n
	}
	n = n.own(owner, 0, 0)
	n.clear(bit)
	n.delta -= int32(was)
	if n.kidsAt|n.leavesAt == 0 {
		return nil
	}
	return n
}

// each calls f for all leaves in the order of their numbers, until it returns false.
func (t trie[T]) each(f func(T) bool) bool { return t.root == nil || t.root.each(f) }

func (n *node[T]) each(f func(T) bool) bool {
	for slots := n.kidsAt | n.leavesAt; slots != 0; slots &= slots - 1 {
		bit := slots & -slots
		if n.kidsAt&bit != 0 && !n.kid(bit).each(f) || n.leavesAt&bit != 0 && !f(n.leaf(bit)) {
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
		var bit uint32
		bit, low, k = at.reach(n, k, low, shift)
		switch {
		case at.leavesAt&bit != 0:
			return inLeaf(at.leaf(bit), n, k, low)
		case at.kidsAt&bit == 0:
			return low + uint64(k)
		}
		at = at.kid(bit)
	}
}

// reach returns the bit of the slot that contains the k-th row of the node, the first number of
// that slot, and how many rows of the slot come before that row.
func (n *node[T]) reach(rows, k int, low uint64, shift uint) (bit uint32, slotLow uint64, left int) {
	span := uint64(1) << shift
	for bit = 1; ; bit, low = bit<<1, low+span {
		live := below(rows, low, span) + n.count(bit)
		if k < live {
			return bit, low, k
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
		bit := bitOf(path, shift)
		for _, kid := range at.kids[:before(at.kidsAt, bit)] {
			rank += int(kid.delta)
		}
		for _, l := range at.leaves[:before(at.leavesAt, bit)] {
			rank += l.count()
		}
		if at.kidsAt&bit == 0 {
			if at.leavesAt&bit != 0 && at.leaf(bit).path() < path {
				rank += at.leaf(bit).count()
			}
			return rank
		}
		at = at.kid(bit)
		shift -= fan
	}
}
