package state

import (
	"bytes"
	"sync/atomic"
)

// version holds the rows of a part at one time: a base and the changes to it. It is immutable once
// it is published; methods that change a version may only be called on one that edit has returned.
type version struct {
	base    *Base
	rows    rows    // all changes
	keys    keys    // keys of inserted rows
	orders  *orders // nil until one of them is changed
	owner   uint64  // owner of the nodes that this version may change; see trie
	changes int     // number of records
	bytes   int64   // estimated memory that the changes take; see memory

	free     *version // the rows that were not taken; nil if none was taken
	unnamed  bool     // keys is not kept up, because it is the version of free rows
	edited   bool     // orders belongs to this version alone
	lastTake uint32   // stamp of the last row that was taken
}

// The memory in bytes that a change takes in addition to its texts, measured with BenchmarkSnapshot
// and BenchmarkParts.
const (
	costOfRecord = 104 // the record, its slot, its share of nodes
	costOfKey    = 16  // of an inserted row
	costOfMove   = 112 // the move and its entry in the queue
	costOfEntry  = 64  // in an order
)

func newVersion(b *Base) *version { return &version{base: b, rows: rows{next: uint64(b.Len())}} }

// owners is the last owner that was assigned to a version; see trie.
var owners atomic.Uint64

// edit returns a copy that may be changed until it is published. If several is true, the changes
// that follow have a common owner, so that each copies only the nodes that no earlier one has
// copied.
func (v *version) edit(several bool) *version {
	w := *v
	w.owner = 0
	if several {
		w.owner = owners.Add(1)
	}
	w.edited = false
	if v.free != nil {
		w.free = v.free.edit(several)
	}
	return &w
}

// order returns an order that may be changed.
func (v *version) order(i int) *order {
	if !v.edited {
		all := make([]order, len(v.base.orders))
		if v.orders != nil {
			copy(all, v.orders.all)
		}
		for i := range all {
			all[i].own = false
		}
		v.orders, v.edited = &orders{all}, true
	}
	o := &v.orders.all[i]
	if !o.own && o.added != nil {
		o.added = o.added.Copy()
	}
	o.own = true
	return o
}

// len returns the number of rows.
func (v *version) len() int { return v.rows.size(v.base.Len()) }

func (v *version) get(key []byte) Row { return v.find(hashOf(key), key) }

// find is like get, but also takes the hash of the key.
func (v *version) find(hash uint64, key []byte) Row {
	found := v.inBase(hash, key)
	if !found.Found() {
		if r := v.inserted(hash, key); r != nil {
			return r.row()
		}
	}
	return found // without JSON: a row of the base that was deleted
}

// inBase returns the row of the base with a key, as it is now. The change of a row has its key too,
// and is read in any case, so the text in the base is read only for rows that have not changed.
func (v *version) inBase(hash uint64, key []byte) Row {
	for i := int(hash); ; i++ {
		var seq uint32
		if seq, i = v.base.candidate(hash, i); i < 0 {
			return Row{}
		}
		r := v.rows.get(uint64(seq))
		if r != nil && !r.isDeleted() {
			if bytes.Equal(r.key(), key) {
				return r.row()
			}
			continue
		}
		if k, json := v.base.row(seq); bytes.Equal(k, key) {
			if r != nil {
				json = nil
			}
			return Row{Key: k, JSON: json, Seq: uint64(seq), change: r}
		}
	}
}

// row returns the row with a seq, or the zero Row if there is none.
func (v *version) row(seq uint64) Row {
	change := v.rows.get(seq)
	inBase := seq < uint64(v.base.Len())
	switch {
	case change == nil && !inBase:
		return Row{}
	case change == nil:
		key, json := v.base.row(uint32(seq))
		return Row{Key: key, JSON: json, Seq: seq}
	case change.isDeleted():
		return Row{Seq: seq, change: change}
	}
	return change.row()
}

// put writes a row as a record; before is the current row with the same key, hash is the hash of the
// key, and kept is as for reorder.
func (v *version) put(before Row, hash uint64, r *record, kept uint32) {
	if v.free != nil && (!before.Found() || v.isFree(before.Seq)) {
		v.free.put(before, hash, r, kept)
	}
	if !before.Found() { // also if a row of the base was deleted: the new row comes last
		r.inserted = true
		v.changes++
		v.bytes += cost(r)
		v.insert(hash, r)
		v.reorder(r.seq, nil, r.json(), 0)
		return
	}
	r.seq = before.Seq
	r.inserted = before.change != nil && before.change.inserted
	v.set(r, before.change)
	v.reorder(before.Seq, before.JSON, r.json(), kept)
}

// delete deletes a row, which must exist.
func (v *version) delete(before Row, stamp uint32) {
	gone := &record{seq: before.Seq, stamp: stamp}
	if v.free != nil && v.isFree(before.Seq) {
		v.free.remove(before, gone)
	}
	v.remove(before, gone)
}

// remove deletes a row; gone is the record for a deleted row of the base.
func (v *version) remove(before Row, gone *record) {
	if before.change != nil && before.change.inserted {
		v.drop(before.change)
	} else {
		v.set(gone, before.change)
	}
	v.reorder(before.Seq, before.JSON, nil, 0)
}

// undo reverts a change: a row of the base is restored, and an inserted row is removed.
func (v *version) undo(r *record) {
	if v.free != nil && v.free.rows.get(r.seq) == r {
		v.free.undo(r)
	}
	v.drop(r)
	var base, was []byte
	if !r.inserted {
		_, base = v.base.row(uint32(r.seq))
	}
	if !r.isDeleted() {
		was = r.json()
	}
	v.reorder(r.seq, was, base, 0)
}

// giveUp undoes a change that has become too old, and returns how many changes it has undone. A
// deleted row of the base does not return as long as an inserted row has its key; it returns when
// the insertion of that row is undone.
func (v *version) giveUp(r *record) int {
	if r.isDeleted() {
		key, _ := v.base.row(uint32(r.seq))
		if v.inserted(hashOf(key), key) != nil {
			return 0
		}
	}
	v.undo(r)
	if !r.inserted {
		return 1
	}
	row, ok := v.base.find(hashOf(r.key()), r.key())
	if !ok {
		return 1
	}
	deleted := v.rows.get(uint64(row))
	if deleted == nil || !deleted.isDeleted() {
		return 1
	}
	v.undo(deleted)
	return 2
}

// set stores a record in place of old, which is nil if there is none.
func (v *version) set(r, old *record) {
	if old != nil {
		v.bytes -= cost(old)
	} else {
		v.changes++
	}
	v.bytes += cost(r)
	v.rows.set(r, v.owner)
}

// drop removes a record.
func (v *version) drop(r *record) {
	v.changes--
	v.bytes -= cost(r)
	if r.inserted && !v.rows.inTail(r.seq) {
		v.keys.live--
	}
	v.rows.drop(r.seq, v.owner)
}

func cost(r *record) int64 {
	n := costOfRecord + len(r.text)
	if r.move != nil {
		n += costOfMove
	}
	if r.inserted {
		n += costOfKey
	}
	return int64(n)
}

// reorder updates all orders for a row whose text changes from before to after; nil stands for no
// row. The orders in kept have a bit for each order whose value is known to stay the same.
func (v *version) reorder(seq uint64, before, after []byte, kept uint32) {
	var room []byte
	for i := range v.base.orders {
		if kept>>i&1 != 0 {
			continue
		}
		value := v.base.orders[i].member.Value
		room = room[:0]
		if before != nil {
			room = value(before, room)
		}
		n := len(room)
		if after != nil {
			room = value(after, room)
		}
		m := len(room)
		was, is := room[:n], room[n:m]
		if before != nil && after != nil && bytes.Equal(was, is) {
			continue
		}
		home := was // the value in the base
		if seq < uint64(v.base.Len()) {
			if _, json := v.base.row(uint32(seq)); !bytes.Equal(json, before) {
				room = value(json, room)
				home = room[m:]
			}
		}
		if before != nil {
			v.shift(i, seq, was, home, false)
		}
		if after != nil {
			v.shift(i, seq, is, home, true)
		}
	}
}

// shift adds a row with a value to an order, or removes it. A row of the base with the value that it
// has there, home, is in its place in the order of the base.
func (v *version) shift(i int, seq uint64, value, home []byte, enters bool) {
	o, b := v.order(i), &v.base.orders[i]
	inPlace := seq < uint64(v.base.Len()) && bytes.Equal(value, home)
	switch {
	case inPlace && enters:
		o.gone = o.gone.without(uint64(b.position(v.base, value, uint32(seq))), v.owner)
		v.bytes -= costOfEntry
	case inPlace:
		o.gone = o.gone.with(position(b.position(v.base, value, uint32(seq))), v.owner)
		v.bytes += costOfEntry
	case enters:
		o.add(entry{bytes.Clone(value), seq})
		v.bytes += costOfEntry + int64(len(value))
	default:
		o.remove(entry{value, seq})
		v.bytes -= costOfEntry + int64(len(value))
	}
}

// insert adds a row after all other rows, and sets its seq. hash is the hash of its key.
func (v *version) insert(hash uint64, r *record) {
	c := &v.rows
	r.seq = c.next
	i := int(r.seq - c.from)
	switch {
	case c.tail == nil:
		c.tail, c.from, i = &block{slots: make([]tailSlot, firstBlock)}, r.seq, 0
	case r.seq%(1<<fan) == 0:
		v.name()
		c.flush(v.owner)
		c.tail, c.from, c.live, i = &block{slots: make([]tailSlot, 1<<fan)}, r.seq, 0, 0
	case i == len(c.tail.slots):
		c.own(min(2*i, 1<<fan))
	case c.tail.used > i: // used by a version that has been replaced
		c.own(len(c.tail.slots))
	}
	c.tail.slots[i] = tailSlot{r, hash}
	c.tail.used = i + 1
	c.next++
	c.live++
}
