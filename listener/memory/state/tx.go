package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// ErrConflict reports that something that a transaction read has changed since. The caller should
// try again.
var ErrConflict = errors.New("rows that the transaction had read have changed")

// FullError reports that a set has no room for the changes of a transaction.
type FullError struct{ Set string }

func (e *FullError) Error() string { return fmt.Sprintf("the set %q is full", e.Set) }

// Tx is a transaction: the reads and writes of one request. Everything that it reads from a part is
// as it was at one time. Commit makes all of its writes or none. Only one goroutine may use it;
// Begin makes it ready for another use.
type Tx struct {
	Unlimited bool // limits do not apply, as for changes read from a file; Begin keeps it

	store  *Store
	epoch  uint64
	views  []view
	reads  []read
	writes []write
	takes  []take
	last   map[string]int // used with many writes: the index of the last write by view and key
	moving bool           // it makes a move: limits do not apply, and no other move is made first
}

// many is the number of writes at which a table is created to find them.
const many = 64

// view is a part as the transaction sees it.
type view struct {
	set  *Set
	name []byte // name of the part; nil for the common one
	v    *version
	part *Part // set during Commit
}

// read is something that the transaction has read, and that must be unchanged at Commit.
type read struct {
	view   int
	kind   readKind
	key    []byte // key of a row that was read by its key; otherwise nil
	hash   uint64 // hash of the key
	row    Row
	equal  []Condition // the arguments of First and Once
	others []uint64    // an argument of Once
}

// readKind is how a row was found.
type readKind uint8

const (
	knownRow readKind = iota // by its key, or in a list
	firstRow                 // by First
	lastRow                  // by First, with last
	freeRow                  // by Once
)

// write is a change to be made at Commit.
type write struct {
	view int
	key  []byte
	is   *record // nil: deleted
	kept uint32  // see Keep
}

// Begin starts a new transaction; everything from the previous transaction is dropped.
func (t *Tx) Begin(s *Store) {
	t.End()
	t.store = s
	for t.epoch = s.epoch.Load(); t.epoch&1 != 0; t.epoch = s.epoch.Load() {
		runtime.Gosched()
	}
}

// End drops everything that the transaction has seen and written, so that it keeps nothing in
// memory.
func (t *Tx) End() {
	clear(t.views)
	clear(t.reads)
	clear(t.writes)
	clear(t.takes)
	*t = Tx{views: t.views[:0], reads: t.reads[:0], writes: t.writes[:0], takes: t.takes[:0], moving: t.moving, Unlimited: t.Unlimited}
	if cap(t.writes) > many {
		t.writes, t.reads = nil, nil
	}
}

// view returns the index of the view of a part.
func (t *Tx) view(set *Set, part []byte) int {
	for i := range t.views {
		if w := &t.views[i]; w.set == set && bytes.Equal(w.name, part) && (w.name == nil) == (part == nil) {
			return i
		}
	}
	if !t.moving {
		set.advance()
	}
	t.views = append(t.views, view{set: set, name: part, v: set.current(part)})
	return len(t.views) - 1
}

// Get returns the row with a key in a part; nil stands for the common part. It sees what the
// transaction itself has written. The key and the part must not be modified before Commit.
func (t *Tx) Get(set *Set, part, key []byte) Row {
	w := t.view(set, part)
	if i := t.written(w, key); i >= 0 {
		if is := t.writes[i].is; is != nil {
			return is.row()
		}
		return Row{}
	}
	hash := hashOf(key)
	r := t.views[w].v.find(hash, key)
	t.reads = append(t.reads, read{view: w, key: key, hash: hash, row: r})
	return r
}

// written returns the index of the last write to a key, or -1 if there is none.
func (t *Tx) written(view int, key []byte) int {
	if t.last != nil {
		if i, ok := t.last[tableKey(view, key)]; ok {
			return i
		}
		return -1
	}
	for i, done := range slices.Backward(t.writes) {
		if done.view == view && bytes.Equal(done.key, key) {
			return i
		}
	}
	return -1
}

func tableKey(view int, key []byte) string {
	return string(key) + string([]byte{byte(view), byte(view >> 8)})
}

// write adds a change.
func (t *Tx) write(w write) {
	t.writes = append(t.writes, w)
	switch n := len(t.writes); {
	case n == many:
		t.last = make(map[string]int, 2*many)
		for i := range t.writes {
			t.last[tableKey(t.writes[i].view, t.writes[i].key)] = i
		}
	case n > many:
		t.last[tableKey(w.view, w.key)] = n - 1
	}
}

// Within returns the rows of a part whose values of a member are within a range, in the order of
// the values and then of insertion, without what the transaction has written.
func (t *Tx) Within(set *Set, part []byte, m *Member, from, to Bound) Rows {
	v := t.views[t.view(set, part)].v
	order := v.base.order(m)
	if order < 0 { // a reload has removed it meanwhile
		v, order = v.orderedBy(m), 0
	}
	return v.within(order, from, to)
}

// Saw notes that the transaction depends on a row of a list.
func (t *Tx) Saw(set *Set, part []byte, r Row) {
	t.reads = append(t.reads, read{view: t.view(set, part), row: r})
}

// Put writes a row, in place of any row with the same key, and its next move, which may be nil. It
// copies both texts, and returns the copy of the row, which is valid forever.
func (t *Tx) Put(set *Set, part, key, json []byte, move *Move) []byte {
	r := newRecord(key, json, move)
	t.write(write{view: t.view(set, part), key: r.key(), is: r})
	return r.json()
}

// Keep notes that the last Put has changed only some members of the row. Orders by others need no
// update. The row that it replaced must be the one that Get returned.
func (t *Tx) Keep(changed func(root string) bool) {
	w := &t.writes[len(t.writes)-1]
	for i, o := range t.views[w.view].v.base.orders {
		if o.member.Root != "" && !changed(o.member.Root) {
			w.kept |= 1 << i
		}
	}
}

// Delete deletes a row. The key must not be modified before Commit.
func (t *Tx) Delete(set *Set, part, key []byte) {
	t.write(write{view: t.view(set, part), key: key})
}

// Commit applies what was written. The error is ErrConflict, a *FullError, or nil; after an error
// nothing has changed. A transaction without writes conflicts only if it has read several parts and
// another transaction has changed several parts in the meantime: it may have seen only some of
// these changes.
func (t *Tx) Commit() error {
	if len(t.writes)+len(t.takes) == 0 {
		if len(t.views) > 1 && t.store.epoch.Load() != t.epoch {
			return ErrConflict
		}
		return nil
	}
	t.lock()
	err := t.commit()
	for i := range t.views {
		t.views[i].part.tidy()
		t.views[i].part.mu.Unlock()
	}
	if err != nil {
		return err
	}
	for i := range t.views {
		t.views[i].set.makeRoom()
	}
	return nil
}

// lock locks the parts of all views, in the order of their ids.
func (t *Tx) lock() {
	if len(t.views) == 1 {
		t.views[0].part = t.views[0].set.lock(t.views[0].name)
		return
	}
	parts := make([]*Part, len(t.views))
	for locked := false; !locked; {
		for i := range t.views {
			w := &t.views[i]
			w.part = w.set.lock(w.name)
			w.part.mu.Unlock()
			parts[i] = w.part
		}
		slices.SortFunc(parts, func(p, q *Part) int { return cmp.Compare(p.id, q.id) })
		locked = true
		for i, p := range parts {
			if p.mu.Lock(); p.gone {
				for _, p := range parts[:i+1] {
					p.mu.Unlock()
				}
				locked = false
				break
			}
		}
	}
}

// commit does the work of Commit while all parts are locked.
func (t *Tx) commit() error {
	if seen := t.changed(); seen >= 0 {
		t.views[seen].set.conflicts.Add(1)
		return ErrConflict
	}
	for i := range t.views {
		t.views[i].v = t.views[i].part.now.Load()
	}
	several := len(t.writes)+len(t.takes) > 1
	t.take(several)
	for i := range t.writes {
		w := &t.writes[i]
		to := &t.views[w.view]
		before, hash := t.before(w, to.v)
		switch stamp := to.set.stamp.Add(1); {
		case w.is != nil:
			w.is.stamp = stamp
			to.edit(several).put(before, hash, w.is, w.kept)
		case before.Found():
			to.edit(several).delete(before, stamp)
		}
	}
	written := 0
	for i := range t.views {
		w := &t.views[i]
		before := w.part.now.Load()
		if w.v == before {
			continue
		}
		written++
		if !w.set.options.Load().Oldest && !t.moving && !t.Unlimited && w.set.exceeds(int64(w.v.changes-before.changes), w.part.size(w.v)-w.part.size(before)) {
			return &FullError{w.set.Name}
		}
	}
	t.publish(written > 1)
	return nil
}

// before returns the row that a write changes, and the hash of its key. A transaction with a single
// write has often read that row, and the row is still the same.
func (t *Tx) before(w *write, v *version) (Row, uint64) {
	if len(t.writes) == 1 {
		for i := range t.reads {
			if r := &t.reads[i]; r.view == w.view && r.key != nil && bytes.Equal(r.key, w.key) {
				return r.row, r.hash
			}
		}
	}
	hash := hashOf(w.key)
	return v.find(hash, w.key), hash
}

// edit returns a version of the view's part that may be changed.
func (w *view) edit(several bool) *version {
	if w.v == w.part.now.Load() {
		w.v = w.v.edit(several)
	}
	return w.v
}

// changed returns the index of a view in which something differs from what the transaction read, or
// -1 if there is none.
func (t *Tx) changed() int {
	for i := range t.views {
		if w := &t.views[i]; w.v.base != w.part.now.Load().base {
			return i
		}
	}
	for i := range t.reads {
		r := &t.reads[i]
		now := t.views[r.view].part.now.Load()
		if now != t.views[r.view].v && !r.holds(now) {
			return r.view
		}
	}
	return -1
}

// publish makes the versions of all views current.
func (t *Tx) publish(several bool) {
	if several {
		t.store.multi.Lock()
		defer t.store.multi.Unlock()
		t.store.epoch.Add(1)
		defer t.store.epoch.Add(1)
	}
	for i := range t.views {
		if w := &t.views[i]; w.v != w.part.now.Load() {
			w.part.publish(w.v)
		}
	}
	now := time.Time{}
	for i := range t.takes {
		if to := &t.views[t.takes[i].view]; to.name != nil && to.set.aging() {
			to.set.ages.add(to.part, takes, to.v.lastTake, time.Now())
		}
	}
	for i := range t.writes {
		to := &t.views[t.writes[i].view]
		r := t.writes[i].is
		if r != nil && r.move != nil && to.v.rows.get(r.seq) == r {
			to.set.moves.add(to.part, r)
		}
		if !to.set.aging() {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		if r == nil { // a row of the base that was deleted
			r = to.v.get(t.writes[i].key).change
		}
		if r != nil {
			to.set.ages.add(to.part, r.seq, r.stamp, now)
		}
	}
}

// holds reports whether a version still has what was read.
func (r *read) holds(v *version) bool {
	switch {
	case r.key != nil:
		return v.find(r.hash, r.key).same(r.row)
	case r.kind == freeRow && !r.row.Found():
		now, _ := v.untaken(r.equal, r.others)
		return !now.Found()
	case r.kind == firstRow || r.kind == lastRow:
		now, _ := v.first(r.equal, r.kind == lastRow, nil)
		return now.same(r.row)
	}
	return v.row(r.row.Seq).same(r.row) && (r.kind != freeRow || v.isFree(r.row.Seq))
}

// First returns the first row of a part that meets all conditions, none of which may have Any, or
// the last one if last is true. The transaction then depends on the result: at Commit, the same row
// must still be the first, or there must still be none. The values must not be modified before
// Commit. First does not see what the transaction has written. If ok is false,
// First would need to look at more than MaxSifted rows.
func (t *Tx) First(set *Set, part []byte, all []Condition, last bool) (r Row, ok bool) {
	w := t.view(set, part)
	kind := firstRow
	if last {
		kind = lastRow
	}
	r, ok = t.views[w].v.first(all, last, nil)
	t.reads = append(t.reads, read{view: w, row: r, kind: kind, equal: all})
	return r, ok
}
