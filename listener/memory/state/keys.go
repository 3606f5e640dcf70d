package state

import "sync/atomic"

// keys finds the inserted rows of a version by the hashes of their keys. It is a tree of buckets;
// each bucket has the rows whose hashes begin with the same bits. The zero value is empty.
//
// Versions share a bucket: a row is added after the existing ones, and nothing is copied. So a
// bucket may list rows that a version does not have, because they were inserted later or are gone;
// a reader checks the row itself. A bucket has no pointers, so it keeps no row in memory. When it
// is full, the version replaces it with new buckets, which leave out entries that are out of date
// if there are many of them.
type keys struct {
	root  keySlot
	named int // approximate number of entries in all buckets
	live  int // number of entries of rows that the version has
}

// keySlot is a node or a bucket, or neither.
type keySlot struct {
	node   *keyNode
	bucket *bucket
}

// keyNode branches on four bits of a hash. Adjacent slots may share a bucket.
type keyNode struct{ slots [1 << keyBits]keySlot }

const (
	keyBits    = 4
	bucketSize = 17 // chosen so that a bucket fills a size class of the allocator
)

// bucket holds the hashes and seqs of rows. Everything needed to see that it lacks a row is in one
// cache line.
type bucket struct {
	used    atomic.Int32       // number of entries; an entry is written before it is counted
	depth   uint8              // how many bits of their hashes all rows have in common
	tags    [bucketSize]uint16 // the low bits of the hashes
	entries [bucketSize]keyEntry
}

// set writes an entry that is not counted yet.
func (b *bucket) set(i int32, e keyEntry) { b.tags[i], b.entries[i] = uint16(e.hash), e }

// shares reports whether another entry of a full bucket has the same hash as this one.
func (b *bucket) shares(one keyEntry) bool {
	for _, other := range b.entries {
		if other.hash == one.hash && other.seq != one.seq {
			return true
		}
	}
	return false
}

type keyEntry struct{ hash, seq uint64 }

// slotOf returns the index of the slot of a hash in a node.
func slotOf(hash uint64, level uint) uint64 {
	return hash << (level * keyBits) >> (64 - keyBits)
}

// bucket returns the bucket for a hash, or nil if there is none yet.
func (k keys) bucket(hash uint64) *bucket {
	s := k.root
	for level := uint(0); s.node != nil; level++ {
		s = s.node.slots[slotOf(hash, level)]
	}
	return s.bucket
}

// with returns a copy of the slot, at the given level, in which the bucket of the given depth for a
// hash is replaced by buckets with the given entries.
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

// bucketFill is the maximum number of entries of a new bucket, so that there is room for more.
const bucketFill = 12

// fill makes the buckets for the hashes whose first bits are those of the given hash.
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
