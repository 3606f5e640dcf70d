package state

import (
	"bytes"
	"slices"
	"sync/atomic"
)

// keys finds the rows of a version that were inserted by the hashes of their keys: a tree of buckets,
// each of which has the rows whose hashes begin with the same bits. The zero value is empty.
//
// A bucket is shared by versions: a row is added after the others, and nothing is copied. So
// it may name rows that a version does not have, because they were inserted later or are gone; a
// reader looks at the row itself. It has no pointers, so it keeps no row in memory. When it is full, the
// version has others in its place, without what is out of date if that has become much.
type keys struct {
	root  keySlot
	named int // entries of all buckets, about
	live  int // of them those of rows that the version has
}

// keySlot is a node or a bucket, or neither.
type keySlot struct {
	node   *keyNode
	bucket *bucket
}

// keyNode decides four bits of a hash. Slots next to each other may have the same bucket.
type keyNode struct{ slots [1 << keyBits]keySlot }

const (
	keyBits    = 4
	bucketSize = 17 // so that a bucket fills a size class of the allocator
)

// bucket has the hashes and seqs of rows. What is looked at to see that a row is not there is in one
// cache line.
type bucket struct {
	used    atomic.Int32       // an entry is written before it counts
	depth   uint8              // how many bits of their hashes all rows have in common
	tags    [bucketSize]uint16 // the low bits of the hashes
	entries [bucketSize]keyEntry
}

// set sets an entry that does not count yet.
func (b *bucket) set(i int32, e keyEntry) { b.tags[i], b.entries[i] = uint16(e.hash), e }

type keyEntry struct{ hash, seq uint64 }

// slotOf returns the index of the slot of a hash in a node.
func slotOf(hash uint64, level uint) uint64 {
	return hash << (level * keyBits) >> (64 - keyBits)
}

// bucket returns the bucket for a hash; nil if there is none yet.
func (k keys) bucket(hash uint64) *bucket {
	s := k.root
	for level := uint(0); s.node != nil; level++ {
		s = s.node.slots[slotOf(hash, level)]
	}
	return s.bucket
}

// inserted returns the change of a row that was inserted with a key; nil if there is none.
func (v *version) inserted(hash uint64, key []byte) *record {
	if r := v.rows.named(hash, key); r != nil {
		return r
	}
	b := v.keys.bucket(hash)
	if b == nil {
		return nil
	}
	for i, tag := range b.tags[:b.used.Load()] {
		if tag != uint16(hash) || b.entries[i].hash != hash {
			continue
		}
		if r := v.rows.get(b.entries[i].seq); r != nil && r.inserted && bytes.Equal(r.key(), key) {
			return r
		}
	}
	return nil
}

// name enters the rows of the tail.
func (v *version) name() {
	for i := range v.rows.visible() { // so that several reads from memory overlap
		if b := v.keys.bucket(v.rows.tail.hashes[i]); b != nil {
			_ = b.used.Load()
		}
	}
	for i, r := range v.rows.visible() {
		if r != nil {
			v.note(v.rows.tail.hashes[i], r.seq)
		}
	}
}

// note adds a row that the version has.
func (v *version) note(hash, seq uint64) {
	k := &v.keys
	k.live++
	k.named++
	b := k.bucket(hash)
	if b == nil { // there is none at all
		b = &bucket{}
		k.root.bucket = b
	}
	e := keyEntry{hash, seq}
	if n := b.used.Load(); n < bucketSize {
		b.set(n, e)
		b.used.Store(n + 1)
		return
	}
	var room [bucketSize + 1]keyEntry
	all := append(room[:0], b.entries[:]...)
	much := k.named > k.live+k.live/4+bucketSize
	all = slices.DeleteFunc(all, func(one keyEntry) bool {
		// A key that was deleted and inserted often has entries that no bucket can tell apart.
		if !much && one.hash != hash && !sharesHash(b, one) {
			return false
		}
		r := v.rows.get(one.seq)
		return r == nil || !r.inserted || hashOf(r.key()) != one.hash
	})
	k.named -= bucketSize - len(all)
	k.root = k.root.with(0, uint(b.depth), hash, append(all, e))
}

// sharesHash reports whether another entry of a full bucket has the same hash.
func sharesHash(b *bucket, one keyEntry) bool {
	for _, other := range b.entries {
		if other.hash == one.hash && other.seq != one.seq {
			return true
		}
	}
	return false
}

// with returns a slot of a level in which the bucket for a hash, of a depth, is replaced by ones with
// the given entries.
func (s keySlot) with(level, depth uint, hash uint64, all []keyEntry) keySlot {
	n := &keyNode{}
	if s.node != nil {
		*n = *s.node
		if i := slotOf(hash, level); n.slots[i].node != nil {
			n.slots[i] = n.slots[i].with(level+1, depth, hash, all)
			return keySlot{node: n}
		}
	} else if len(all) <= bucketFill {
		return keySlot{bucket: newBucket(depth, all)}
	}
	n.fill(level, depth, hash, all)
	return keySlot{node: n}
}

// bucketFill is how many entries a new bucket has at most, so that there is room for others.
const bucketFill = 12

// fill makes the buckets for the hashes that begin with the first bits of one.
func (n *keyNode) fill(level, depth uint, hash uint64, all []keyEntry) {
	switch {
	case len(all) <= bucketFill:
		count := uint64(1) << ((level+1)*keyBits - depth)
		first := slotOf(hash, level) &^ (count - 1)
		b := newBucket(depth, all)
		for i := range count {
			n.slots[first+i] = keySlot{bucket: b}
		}
	case depth == (level+1)*keyBits:
		below := &keyNode{}
		below.fill(level+1, depth, hash, all)
		n.slots[slotOf(hash, level)] = keySlot{node: below}
	default:
		bit := uint64(1) << (63 - depth)
		var off, on []keyEntry
		for _, h := range all {
			if h.hash&bit == 0 {
				off = append(off, h)
			} else {
				on = append(on, h)
			}
		}
		n.fill(level, depth+1, hash&^bit, off)
		n.fill(level, depth+1, hash|bit, on)
	}
}

func newBucket(depth uint, all []keyEntry) *bucket {
	b := &bucket{depth: uint8(depth)}
	for i, e := range all {
		b.set(int32(i), e)
	}
	b.used.Store(int32(len(all)))
	return b
}
