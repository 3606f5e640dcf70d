package state

import "bytes"

// rows holds the changes of a version by seq: a trie and, after it, the newest of the inserted
// rows. The zero value is for a base without rows and holds no changes.
//
// The newest rows are in a block that versions share: a row is added after the existing ones
// without a copy, and a version knows how many of them are its own. These rows are found by key in
// the block itself; later they are moved into the trie, and added to the keys of the version, all
// at once.
type rows struct {
	trie trie[*record]
	tail *block // nil if there is none
	from uint64 // the first seq of the tail, which ends before the next multiple of 1<<fan
	next uint64 // seq of the next row that is inserted
	live int    // rows in the tail
}

// block is room for rows with consecutive seqs. The first block of a version is small at first, so
// that a part with few rows takes little memory.
type block struct {
	slots []tailSlot
	used  int // number of slots used; guarded by the lock of the part
}

type tailSlot struct {
	*record        // nil if the row is gone
	hash    uint64 // hash of the row's key
}

// firstBlock is the number of slots that the first block begins with.
const firstBlock = 12

// visible returns the slots of the tail that belong to the version.
func (c *rows) visible() []tailSlot {
	if c.tail == nil {
		return nil
	}
	return c.tail.slots[:c.next-c.from]
}

// get returns the change to a row, or nil if there is none.
func (c *rows) get(seq uint64) *record {
	if c.inTail(seq) {
		return c.tail.slots[seq-c.from].record
	}
	return c.trie.get(seq)
}

// own gives this version its own copy of the tail, with the given number of slots.
func (c *rows) own(size int) {
	t := &block{slots: make([]tailSlot, size)}
	t.used = copy(t.slots, c.visible())
	c.tail = t
}

// named returns the row with a key in the tail, or nil if there is none.
func (c *rows) named(hash uint64, key []byte) *record {
	for _, s := range c.visible() {
		if s.hash == hash && s.record != nil && bytes.Equal(s.key(), key) {
			return s.record
		}
	}
	return nil
}

// flush moves the tail into the trie.
func (c *rows) flush(owner uint64) {
	// Before a first block, the trie may already contain changes to rows of the base.
	if c.live < 2 || c.from%(1<<fan) != 0 {
		for _, s := range c.visible() {
			if s.record != nil {
				c.trie = c.trie.with(s.record, owner)
			}
		}
		return
	}
	n := &node[*record]{delta: int32(c.live), leaves: make([]*record, 0, c.live)}
	for i, s := range c.visible() {
		if s.record != nil {
			n.leavesAt |= 1 << i
			n.leaves = append(n.leaves, s.record)
		}
	}
	c.trie = c.trie.withBlock(n, c.from)
}

// inTail reports whether the change to a row is in the tail.
func (c *rows) inTail(seq uint64) bool {
	own := c.visible()
	return seq >= c.from && seq-c.from < uint64(len(own)) && own[seq-c.from].record != nil
}

// set stores a change in place of an earlier change or of a row of the base.
func (c *rows) set(r *record, owner uint64) {
	if c.inTail(r.seq) {
		c.own(len(c.tail.slots))
		c.tail.slots[r.seq-c.from].record = r
		return
	}
	c.trie = c.trie.with(r, owner)
}

// drop removes a change.
func (c *rows) drop(seq, owner uint64) {
	if c.inTail(seq) {
		c.own(len(c.tail.slots))
		c.tail.slots[seq-c.from].record = nil
		c.live--
		return
	}
	c.trie = c.trie.without(seq, owner)
}

// each calls f for all changes in the order of their seqs, until it returns false.
func (c *rows) each(f func(*record) bool) bool {
	if !c.trie.each(f) {
		return false
	}
	for _, s := range c.visible() {
		if s.record != nil && !f(s.record) {
			return false
		}
	}
	return true
}

// size returns the number of rows if the base has n.
func (c *rows) size(n int) int { return c.trie.size(n) + c.live }

// at returns the seq of the k-th row, counted from 0, which must exist.
func (c *rows) at(n, k int) uint64 {
	before := c.trie.size(n)
	if k < before {
		return c.trie.at(n, k)
	}
	for _, s := range c.visible() {
		if s.record == nil {
			continue
		}
		if k == before {
			return s.seq
		}
		before++
	}
	return c.next // there is no such row
}

// rank returns how many rows have seqs below the given one.
func (c *rows) rank(n int, seq uint64) int {
	rank := c.trie.rank(n, seq)
	for _, s := range c.visible() {
		if s.record != nil && s.seq < seq {
			rank++
		}
	}
	return rank
}
