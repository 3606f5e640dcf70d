package state

// Rows that are handed out at most once are taken. Once a row of a part has been taken, its version
// has a second one, free, without the rows that were taken: the next free row is found in any order
// without looking at the others. Both versions have the same record for a row that is free, or
// none; so a row is taken if they differ.

// costOfFree is the memory in bytes that a record takes in the version of free rows. BenchmarkParts
// measures 80 for rows that follow each other; rows far apart have more nodes of the trie.
const costOfFree = 112

// takes is the seq of the entry in ages for all rows that were taken in an isolated part.
const takes = 1<<64 - 1

// isFree reports whether a row was not taken.
func (v *version) isFree(seq uint64) bool {
	return v.free == nil || v.free.rows.get(seq) == v.rows.get(seq)
}

// take makes a free row a taken one.
func (v *version) take(row Row) {
	if v.free == nil {
		v.free = v.edit(v.owner != 0)
		v.free.unnamed, v.free.keys = true, keys{}
		v.edited = false // the orders made so far now belong to both versions
		if v.owner != 0 {
			v.owner = owners.Add(1) // the nodes made so far now belong to both versions
		}
	}
	v.free.remove(row, &record{seq: row.Seq})
}

// taken calls f for the rows that were taken, until f returns false.
func (v *version) taken(f func(Row) bool) bool {
	if v.free == nil {
		return true
	}
	return v.free.rows.each(func(r *record) bool {
		if !r.isDeleted() || v.rows.get(r.seq) == r {
			return true
		}
		row := v.row(r.seq)
		return !row.Found() || f(row)
	}) && v.rows.each(func(r *record) bool {
		return !r.inserted || v.isFree(r.seq) || f(r.row())
	})
}

// memory returns the memory that the changes and the rows taken take.
func (v *version) memory() int64 {
	if v.free == nil {
		return v.bytes
	}
	return v.bytes + int64(v.free.changes)*int64(costOfFree+costOfEntry*len(v.base.orders))
}

// take is a row that is to be taken at Commit.
type take struct {
	view int
	row  Row
}

// Once returns the first row of a part that meets all conditions and was not taken, except for the rows
// with the seqs in others. The transaction then depends on the result: at Commit, the row must
// still be free, or there must still be none. Otherwise it is like First.
func (t *Tx) Once(set *Set, part []byte, all []Condition, others []uint64) (r Row, ok bool) {
	w := t.view(set, part)
	r, ok = t.views[w].v.untaken(all, others)
	t.reads = append(t.reads, read{view: w, row: r, kind: freeRow, equal: all, others: others})
	return r, ok
}

func (v *version) untaken(all []Condition, others []uint64) (r Row, ok bool) {
	if v.free != nil {
		v = v.free
	}
	return v.first(all, false, others)
}

// Take takes a row at Commit, unless the transaction deletes it.
func (t *Tx) Take(set *Set, part []byte, row Row) {
	t.takes = append(t.takes, take{t.view(set, part), row})
}

// take takes the rows that are to be taken. All parts are locked.
func (t *Tx) take(several bool) {
	for _, one := range t.takes {
		to := &t.views[one.view]
		if row := to.v.row(one.row.Seq); row.Found() && to.v.isFree(row.Seq) {
			v := to.edit(several)
			v.take(row)
			v.lastTake = to.set.stamp.Add(1)
		}
	}
}
