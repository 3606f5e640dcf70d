package state

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"
)

// Row is a row as it was at one time. The zero value is no row.
type Row struct {
	Key  []byte // valid for ever; not to be modified
	JSON []byte // valid for ever; not to be modified
	Seq  uint64 // its number in the order of insertion: that of a row of the base is below the base's length

	change *record // nil: as in the base
}

// Found reports whether there is a row.
func (r Row) Found() bool { return r.JSON != nil }

// Move returns what the row does by itself; nil if it was never written by a request.
func (r Row) Move() *Move {
	if r.change == nil {
		return nil
	}
	return r.change.move
}

// same reports whether two rows are the same row, and neither was changed since.
func (r Row) same(s Row) bool {
	return r.Seq == s.Seq && r.change == s.change && r.Found() == s.Found()
}

// record is a change: a row of the base that was changed or deleted, or a row that was inserted. It is
// immutable once it is in a version that was published.
type record struct {
	seq      uint64
	text     []byte // the JSON text, and behind it the key if it does not stand in there; nil: deleted
	size     uint32 // of the JSON text
	keyAt    uint32 // the place of the key in text
	keySize  uint32
	stamp    uint32 // tells this change of the row from others
	move     *Move  // of the row by itself; nil for none
	inserted bool
}

// newRecord returns the change that makes a row what it is. It copies both texts.
func newRecord(key, json []byte, move *Move) *record {
	at := bytes.Index(json, key)
	size := len(json)
	if at < 0 {
		size += len(key)
	}
	text := append(make([]byte, 0, size), json...)
	if at < 0 {
		at = len(json)
		text = append(text, key...)
	}
	return &record{text: text, size: uint32(len(json)), keyAt: uint32(at), keySize: uint32(len(key)), move: move}
}

// json returns the JSON text; nil if the row is deleted.
func (r *record) json() []byte { return r.text[:r.size:r.size] }

// key returns the key of a row that is not deleted.
func (r *record) key() []byte { return r.text[r.keyAt : r.keyAt+r.keySize : r.keyAt+r.keySize] }

func (r *record) path() uint64 { return r.seq }

func (r *record) count() int {
	switch {
	case r.inserted:
		return 1
	case r.text == nil:
		return -1
	}
	return 0
}

// version is the rows of a part at one time: a base and the changes to it. It is immutable once it is
// published; those methods that change it are for one that edit has returned.
type version struct {
	base    *Base
	rows    rows    // all changes
	keys    keys    // of inserted rows
	orders  []order // as in the base; nil as long as nothing was changed
	owner   uint64  // of what is changed in it; see trie
	changes int     // records
	bytes   int64   // that the changes take, estimated
}

// What a change takes in memory beside its texts, found by measuring (BenchmarkSnapshot, BenchmarkParts).
const (
	costOfRecord = 128 // the record, its slot, its share of nodes
	costOfKey    = 32  // of an inserted row
	costOfMove   = 112 // the move and its entry in the queue
	costOfEntry  = 64  // in an order
)

func newVersion(b *Base) *version { return &version{base: b, rows: rows{next: uint64(b.Len())}} }

// owners are the owners of what is changed, see trie.
var owners atomic.Uint64

// edit returns a copy that may be changed until it is published. If several changes follow, they
// share their work.
func (v *version) edit(several bool) *version {
	w := *v
	w.owner = 0
	if several {
		w.owner = owners.Add(1)
	}
	if len(v.base.orders) > 0 {
		w.orders = make([]order, len(v.base.orders))
		for i := range v.orders {
			w.orders[i] = v.orders[i].copy()
		}
	}
	return &w
}

// len is the number of rows.
func (v *version) len() int { return v.rows.size(v.base.Len()) }

func hashOf(key []byte) uint64 { return maphash.Bytes(seed, key) }

// get returns the row with a key.
func (v *version) get(key []byte) Row { return v.find(hashOf(key), key) }

// find is get with the hash of the key.
func (v *version) find(hash uint64, key []byte) Row {
	var found Row
	if row, ok := v.base.find(hash, key); ok {
		if found = v.row(uint64(row)); found.Found() {
			return found
		}
	}
	if r := v.inserted(hash, key); r != nil {
		return r.row()
	}
	return found // a row of the base that was deleted
}

// row returns an inserted row.
func (r *record) row() Row { return Row{Key: r.key(), JSON: r.json(), Seq: r.seq, change: r} }

// row returns the row with a seq; there may be none.
func (v *version) row(seq uint64) Row {
	change := v.rows.get(seq)
	inBase := seq < uint64(v.base.Len())
	switch {
	case change == nil && !inBase:
		return Row{}
	case change == nil:
		key, json := v.base.row(uint32(seq))
		return Row{Key: key, JSON: json, Seq: seq}
	case change.text == nil:
		return Row{Seq: seq, change: change}
	}
	return change.row()
}

// put makes a row what a record says; before is the row with its key, and hash that of the key.
func (v *version) put(before Row, hash uint64, r *record) {
	if !before.Found() { // also where a row of the base was deleted: the new one is the last
		r.inserted = true
		v.changes++
		v.bytes += cost(r)
		v.insert(hash, r)
		v.reorder(r.seq, nil, r.json())
		return
	}
	r.seq = before.Seq
	r.inserted = before.change != nil && before.change.inserted
	v.set(r, before.change)
	v.reorder(before.Seq, before.JSON, r.json())
}

// delete deletes a row, which must be there.
func (v *version) delete(before Row, stamp uint32) {
	if before.change != nil && before.change.inserted {
		v.drop(before.change)
	} else {
		v.set(&record{seq: before.Seq, stamp: stamp}, before.change)
	}
	v.reorder(before.Seq, before.JSON, nil)
}

// undo takes a change back: a row of the base is again as it was there, and one that was inserted is
// gone.
func (v *version) undo(r *record) {
	v.drop(r)
	var base, was []byte
	if !r.inserted {
		_, base = v.base.row(uint32(r.seq))
	}
	if r.text != nil {
		was = r.json()
	}
	v.reorder(r.seq, was, base)
}

// set enters a record in place of an earlier one, nil for none.
func (v *version) set(r, old *record) {
	if old != nil {
		v.bytes -= cost(old)
	} else {
		v.changes++
	}
	v.bytes += cost(r)
	v.rows.set(r, v.owner)
}

// drop takes a record away.
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

// reorder enters a row whose text was before, or nil, and is now after, or nil, in all orders.
func (v *version) reorder(seq uint64, before, after []byte) {
	if len(v.orders) == 0 {
		return
	}
	var room [256]byte
	for i := range v.orders {
		m := v.base.orders[i].member
		var was, is []byte
		if before != nil {
			was = m.Value(before, room[:0])
		}
		if after != nil {
			is = m.Value(after, nil)
		}
		if before != nil && after != nil && bytes.Equal(was, is) {
			continue
		}
		if before != nil {
			v.leave(i, seq, was)
		}
		if after != nil {
			v.enter(i, seq, is)
		}
	}
}

// inPlace returns the position that a row of the base has in an order there, if its value there is
// the given one.
func (v *version) inPlace(i int, seq uint64, value []byte) (position, bool) {
	if seq >= uint64(v.base.Len()) {
		return 0, false
	}
	o := &v.base.orders[i]
	_, json := v.base.row(uint32(seq))
	if !bytes.Equal(o.member.Value(json, nil), value) {
		return 0, false
	}
	return position(o.position(v.base, value, uint32(seq))), true
}

// leave takes a row with a value out of an order.
func (v *version) leave(i int, seq uint64, value []byte) {
	if at, ok := v.inPlace(i, seq, value); ok {
		v.orders[i].gone = v.orders[i].gone.with(at, v.owner)
		v.bytes += costOfEntry
		return
	}
	v.orders[i].remove(entry{value, seq})
	v.bytes -= costOfEntry + int64(len(value))
}

// enter puts a row with a value into an order.
func (v *version) enter(i int, seq uint64, value []byte) {
	if at, ok := v.inPlace(i, seq, value); ok {
		v.orders[i].gone = v.orders[i].gone.without(uint64(at), v.owner)
		v.bytes -= costOfEntry
		return
	}
	v.orders[i].add(entry{value, seq})
	v.bytes += costOfEntry + int64(len(value))
}
