package state

import (
	"bytes"
	"sync/atomic"
)

// keys finds the inserted rows of a version by the hashes of their keys, in tables with open
// addressing. The zero value is empty.
//
// Versions share the tables: a row is added in a free slot, and nothing is copied. So a table may
// list rows that a version does not have, because they were inserted later or are gone; a reader
// checks the row itself. A table has no pointers, so it keeps no row in memory. If many of its
// entries are out of date, the version replaces it with one that leaves them out.
type keys struct {
	tables *keyTables // nil if there are none
	live   int        // number of entries of rows that the version has
}

// keyTables is one table or, for many rows, one for each beginning of a hash, so that no request
// waits long for a table that grows.
type keyTables struct {
	all  []atomic.Pointer[keyTable]
	used int // number of entries in all tables; guarded by the lock of the part
}

// keyTable has an entry in each slot that is not 0. The number of slots is a power of two.
type keyTable struct {
	slots []atomic.Uint64
	used  int // number of entries; guarded by the lock of the part
}

// An entry is a seq plus 1 and, above it, the tag of a hash, by which it is placed.
const (
	seqBits   = 40
	keyShards = 256  // number of tables for many rows
	manyKeys  = 2048 // when a single table is split
	maxAlike  = 16   // entries with one tag, before those that are out of date are left out
	minSlots  = 1 << fan * 2
)

func entryOf(hash, seq uint64) uint64 { return tagOf(hash)<<seqBits | (seq + 1) }

func tagOf(hash uint64) uint64 { return hash >> 32 & (1<<24 - 1) }

// index returns the index of the table for a hash.
func (t *keyTables) index(hash uint64) int { return int(hash>>56) % len(t.all) }

// table returns the table for a hash, or nil if there is none yet.
func (k keys) table(hash uint64) *keyTable {
	if k.tables == nil {
		return nil
	}
	return k.tables.all[k.tables.index(hash)].Load()
}

// newKeyTable returns a table with room for as many entries again as it has.
func newKeyTable(entries []uint64) *keyTable {
	n := minSlots
	for n < 2*len(entries) {
		n *= 2
	}
	t := &keyTable{slots: make([]atomic.Uint64, n)}
	for _, e := range entries {
		at, _, _ := t.place(e)
		t.add(at, e)
	}
	return t
}

// place returns the free slot for an entry, unless the table has the entry, and how many entries it
// has with the same tag.
func (t *keyTable) place(e uint64) (at int, known bool, alike int) {
	mask := len(t.slots) - 1
	for i := int(e >> seqBits); ; i++ {
		switch other := t.slots[i&mask].Load(); {
		case other == 0:
			return i & mask, false, alike
		case other == e:
			return 0, true, alike
		case other>>seqBits == e>>seqBits:
			alike++
		}
	}
}

// add writes an entry to a free slot.
func (t *keyTable) add(at int, e uint64) {
	t.slots[at].Store(e)
	t.used++
}

// inserted returns the change that inserted a row with a key, or nil if there is none.
func (v *version) inserted(hash uint64, key []byte) *record {
	if r := v.rows.named(hash, key); r != nil {
		return r
	}
	t := v.keys.table(hash)
	if t == nil {
		return nil
	}
	tag, mask := tagOf(hash), len(t.slots)-1
	for i := int(tag); ; i++ {
		e := t.slots[i&mask].Load()
		if e == 0 {
			return nil
		}
		if e>>seqBits == tag {
			if r := v.named(e); r != nil && bytes.Equal(r.key(), key) {
				return r
			}
		}
	}
}

// named returns the inserted row that an entry may stand for, or nil if the version has none.
func (v *version) named(e uint64) *record {
	if r := v.rows.get(e&(1<<seqBits-1) - 1); r != nil && r.inserted {
		return r
	}
	return nil
}

// name adds the rows of the tail to keys.
func (v *version) name() {
	if v.unnamed {
		return
	}
	for _, s := range v.rows.visible() { // so that several reads from memory overlap
		if t := v.keys.table(s.hash); t != nil {
			_ = t.slots[int(tagOf(s.hash))&(len(t.slots)-1)].Load()
		}
	}
	for _, s := range v.rows.visible() {
		if s.record != nil {
			v.note(s.hash, entryOf(s.hash, s.seq))
		}
	}
}

// note adds the entry of a row of the version to keys.
func (v *version) note(hash, e uint64) {
	k := &v.keys
	if k.live++; k.tables == nil {
		k.tables = &keyTables{all: make([]atomic.Pointer[keyTable], 1)}
	}
	t := k.table(hash)
	if t == nil {
		t = newKeyTable(nil)
		k.tables.all[k.tables.index(hash)].Store(t)
	}
	at, known, alike := t.place(e)
	if known { // added by a version that was discarded
		return
	}
	if t.used >= len(t.slots)/4*3 || alike > maxAlike {
		v.replace(t, hash)
		t = k.table(hash)
		at, _, _ = t.place(e)
	}
	t.add(at, e)
	k.tables.used++
}

// replace replaces the table for a hash with one that has room. It leaves out entries that are out
// of date: of those with the tag of the hash, whose row was often deleted and inserted again, and of
// all if there are many.
func (v *version) replace(t *keyTable, hash uint64) {
	k := &v.keys
	much := k.tables.used > k.live+k.live/4+minSlots
	entries := make([]uint64, 0, t.used)
	for i := range t.slots {
		e := t.slots[i].Load()
		if e == 0 {
			continue
		}
		if much || e>>seqBits == tagOf(hash) {
			if r := v.named(e); r == nil || tagOf(hashOf(r.key())) != e>>seqBits {
				continue
			}
		}
		entries = append(entries, e)
	}
	if dropped := t.used - len(entries); dropped > 0 { // other versions may have these rows
		all := make([]atomic.Pointer[keyTable], len(k.tables.all))
		for i := range all {
			all[i].Store(k.tables.all[i].Load())
		}
		k.tables = &keyTables{all, k.tables.used - dropped}
	}
	if len(k.tables.all) == 1 && len(entries) > manyKeys {
		v.split(entries)
		return
	}
	k.tables.all[k.tables.index(hash)].Store(newKeyTable(entries))
}

// split replaces a single table by one for each beginning of a hash.
func (v *version) split(entries []uint64) {
	shards := make([][]uint64, keyShards)
	to := &keyTables{all: make([]atomic.Pointer[keyTable], keyShards)}
	for _, e := range entries {
		if r := v.named(e); r != nil { // earlier versions keep the single table
			i := to.index(hashOf(r.key()))
			shards[i] = append(shards[i], e)
			to.used++
		}
	}
	for i, entries := range shards {
		to.all[i].Store(newKeyTable(entries))
	}
	v.keys.tables = to
}
