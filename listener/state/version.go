package state

import (
	"bytes"
	"hash/maphash"
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

// identity is what does not change of an inserted row.
type identity struct {
	key  []byte
	hash uint64
	seq  uint64
	next *identity // a row whose key has the same hash
}

func (i *identity) path() uint64 { return i.hash }
func (i *identity) count() int   { return 0 }

// record is a change: a row of the base that was changed or deleted, or a row that was inserted.
type record struct {
	seq   uint64
	json  []byte    // nil: deleted
	of    *identity // of an inserted row; nil for a row of the base
	stamp uint32    // tells this change of the row from others
	move  *Move     // of the row by itself; nil for none
}

func (r *record) path() uint64 { return r.seq }

func (r *record) count() int {
	switch {
	case r.of != nil:
		return 1
	case r.json == nil:
		return -1
	}
	return 0
}

// version is the rows of a part at one time: a base and the changes to it. It is immutable.
type version struct {
	base    *Base
	rows    trie[*record]   // all changes, by seq
	keys    trie[*identity] // inserted rows, by the hash of the key
	orders  []order         // as in the base; nil as long as nothing was changed
	next    uint64          // seq of the next row that is inserted
	changes int             // records
	bytes   int64           // that the changes take, estimated
}

// What a change takes in memory beside its texts, found by measuring (TestMemory_IsWhatIsCounted).
const (
	costOfRecord   = 176 // the record, its slot, its share of nodes
	costOfMove     = 112 // the move and its entry in the queue
	costOfIdentity = 120
	costOfEntry    = 64 // in an order
)

func newVersion(b *Base) *version { return &version{base: b, next: uint64(b.Len())} }

// len is the number of rows.
func (v *version) len() int { return v.rows.size(v.base.Len()) }

// get returns the row with a key.
func (v *version) get(key []byte) Row {
	hash := maphash.Bytes(seed, key)
	var found Row
	if row, ok := v.base.find(hash, key); ok {
		if found = v.row(uint64(row)); found.Found() {
			return found
		}
	}
	if id := v.identity(hash, key); id != nil {
		return v.row(id.seq)
	}
	return found // a row of the base that was deleted
}

func (v *version) identity(hash uint64, key []byte) *identity {
	id := v.keys.get(hash)
	for id != nil && !bytes.Equal(id.key, key) {
		id = id.next
	}
	return id
}

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
	case change.of != nil:
		return Row{Key: change.of.key, JSON: change.json, Seq: seq, change: change}
	case change.json == nil:
		return Row{Seq: seq, change: change}
	}
	key, _ := v.base.row(uint32(seq))
	return Row{Key: key, JSON: change.json, Seq: seq, change: change}
}

// put returns a version in which a key has a row. It keeps both texts.
func (v *version) put(key, json []byte, move *Move, stamp uint32) *version {
	w := *v
	before := v.get(key)
	if !before.Found() { // also where a row of the base was deleted: the new one is the last
		hash := maphash.Bytes(seed, key)
		id := &identity{key: key, hash: hash, seq: v.next, next: v.keys.get(hash)}
		w.next++
		w.keys = v.keys.with(id)
		w.set(&record{seq: id.seq, json: json, of: id, stamp: stamp, move: move})
		w.reorder(id.seq, nil, json)
		return &w
	}
	r := &record{seq: before.Seq, json: json, stamp: stamp, move: move}
	if before.change != nil {
		r.of = before.change.of
	}
	w.set(r)
	w.reorder(before.Seq, before.JSON, json)
	return &w
}

// delete returns a version without the row of a key, which must be there.
func (v *version) delete(key []byte, stamp uint32) *version {
	w := *v
	before := v.get(key)
	if before.change == nil || before.change.of == nil {
		w.set(&record{seq: before.Seq, stamp: stamp})
	} else {
		w.drop(before.change)
	}
	w.reorder(before.Seq, before.JSON, nil)
	return &w
}

// undo returns a version without a change: a row of the base is again as it was there, and one that
// was inserted is gone.
func (v *version) undo(r *record) *version {
	w := *v
	w.drop(r)
	var base []byte
	if r.of == nil {
		_, base = v.base.row(uint32(r.seq))
	}
	w.reorder(r.seq, r.json, base)
	return &w
}

// set enters a record in place of an earlier one. The version must not be published yet.
func (v *version) set(r *record) {
	if old := v.rows.get(r.seq); old != nil {
		v.bytes -= cost(old)
	} else {
		v.changes++
	}
	v.bytes += cost(r)
	v.rows = v.rows.with(r)
}

// drop takes a record away. The version must not be published yet.
func (v *version) drop(r *record) {
	v.changes--
	v.bytes -= cost(r)
	v.rows = v.rows.without(r.seq)
	if r.of == nil {
		return
	}
	head := chainWithout(v.keys.get(r.of.hash), r.of.seq)
	if head == nil {
		v.keys = v.keys.without(r.of.hash)
	} else {
		v.keys = v.keys.with(head)
	}
}

// chainWithout returns a chain of identities without that of a row.
func chainWithout(id *identity, seq uint64) *identity {
	if id == nil {
		return nil
	}
	if id.seq == seq {
		return id.next
	}
	c := *id
	c.next = chainWithout(id.next, seq)
	return &c
}

func cost(r *record) int64 {
	n := costOfRecord + len(r.json)
	if r.move != nil {
		n += costOfMove
	}
	if r.of != nil {
		n += costOfIdentity + len(r.of.key)
	}
	return int64(n)
}

// reorder enters a row whose text was before, or nil, and is now after, or nil, in all orders. The
// version must not be published yet.
func (v *version) reorder(seq uint64, before, after []byte) {
	if len(v.base.orders) == 0 {
		return
	}
	orders := make([]order, len(v.base.orders))
	copy(orders, v.orders)
	v.orders = orders
	var room [256]byte
	for i := range orders {
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
		v.orders[i].gone = v.orders[i].gone.with(at)
		v.bytes += costOfEntry
		return
	}
	v.orders[i] = v.orders[i].without(entry{value, seq})
	v.bytes -= costOfEntry + int64(len(value))
}

// enter puts a row with a value into an order.
func (v *version) enter(i int, seq uint64, value []byte) {
	if at, ok := v.inPlace(i, seq, value); ok {
		v.orders[i].gone = v.orders[i].gone.without(uint64(at))
		v.bytes -= costOfEntry
		return
	}
	v.orders[i] = v.orders[i].with(entry{value, seq})
	v.bytes += costOfEntry + int64(len(value))
}
