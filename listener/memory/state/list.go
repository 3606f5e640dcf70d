package state

import (
	"math"
	"sort"
)

// Rows is a list of rows as they were at one time, in the order of insertion or of a member's
// values. The zero value is an empty list. A row is found by its position in the list without
// looking at the other rows.
type Rows struct {
	v     *version
	order int  // index of the order, or insertion
	base  span // positions in the base order, including those of rows that are gone
	added span // positions in the list of added entries
}

// span is the range of positions p with from <= p < to.
type span struct{ from, to int }

// insertion is the order of insertion.
const insertion = -1

// Len returns the number of rows in the list.
func (l Rows) Len() int {
	switch {
	case l.v == nil:
		return 0
	case l.order == insertion:
		return l.v.len()
	}
	return l.inBase() + l.added.to - l.added.from
}

// gone returns the positions of the base order that are no longer valid.
func (l Rows) gone() trie[position] { return l.changed().gone }

func (l Rows) changed() order {
	if l.v.orders == nil {
		return order{}
	}
	return l.v.orders.all[l.order]
}

// inBase returns the number of rows that are in their place in the base order.
func (l Rows) inBase() int {
	n, gone := l.v.base.Len(), l.gone()
	return gone.rank(n, uint64(l.base.to)) - gone.rank(n, uint64(l.base.from))
}

// At returns the k-th row, counted from 0; if the list is shorter, it returns the zero Row.
func (l Rows) At(k int) Row {
	var at Row
	l.Each(k, 1, func(r Row) bool {
		at = r
		return false
	})
	return at
}

// split returns how many of the first k rows are in their place in the base, and how many were
// added.
func (l Rows) split(k int) (inBase, added int) {
	if l.added.from == l.added.to {
		return k, 0
	}
	inBase, o := l.inBase(), l.changed()
	// Find the smallest number of added rows such that the next added row does not come before the
	// next row of the base.
	low := max(0, k-inBase)
	added = low + sort.Search(min(k, l.added.to-l.added.from)-low, func(n int) bool {
		j := low + n
		return !l.entryBefore(o.entry(l.added.from+j), k-j-1)
	})
	return k - added, added
}

// entryBefore reports whether an added entry comes before the i-th of the rows that are in their
// place.
func (l Rows) entryBefore(e entry, i int) bool {
	at := l.place(i)
	b := &l.v.base.orders[l.order]
	var scratch []byte
	if c := b.compare(l.v.base, e.value, at, &scratch); c != 0 {
		return c < 0
	}
	return e.seq < uint64(b.row[at])
}

// place returns the position in the base order of the i-th row that is in its place.
func (l Rows) place(i int) int {
	n, gone := l.v.base.Len(), l.gone()
	return int(gone.at(n, i+gone.rank(n, uint64(l.base.from))))
}

// Each calls f for the rows from the k-th on, backwards if step is -1, until f returns false.
func (l Rows) Each(k, step int, f func(Row) bool) {
	n := l.Len()
	if l.order == insertion {
		for ; k >= 0 && k < n && f(l.v.row(l.v.rows.at(l.v.base.Len(), k))); k += step {
		}
		return
	}
	if k < 0 || k >= n {
		return
	}
	c := cursor{l: l, step: step, nBase: l.inBase(), nAdded: l.added.to - l.added.from}
	c.base, c.added = l.split(k + max(0, -step))
	for ; k >= 0 && k < n && f(l.v.row(c.next())); k += step {
	}
}

// cursor is a position in a list that is ordered by a member: how many of the rows in their place
// in the base, and how many of the added rows, come before it.
type cursor struct {
	l             Rows
	step          int // 1, or -1 backwards
	base, added   int
	nBase, nAdded int // the totals of the list
}

// next returns the seq of the next row in the direction of the cursor, and moves past it.
func (c *cursor) next() uint64 {
	back := max(0, -c.step)
	if i := c.added - back; i >= 0 && i < c.nAdded {
		e, at := c.l.changed().entry(c.l.added.from+i), c.base-back
		if at < 0 || at == c.nBase || c.l.entryBefore(e, at) == (c.step > 0) {
			c.added += c.step
			return e.seq
		}
	}
	c.base += c.step
	return uint64(c.l.v.base.orders[c.l.order].row[c.l.place(c.base-1+back)])
}

// Bound is an end of a range of values.
type Bound struct {
	Value []byte // in the form that Member.Value returns; nil: no bound
	Not   bool   // the value itself is excluded
}

// within returns the rows of an order whose values are in a range.
func (v *version) within(order int, from, to Bound) Rows {
	b := &v.base.orders[order]
	l := Rows{v: v, order: order, base: span{0, v.base.Len()}}
	o := l.changed()
	l.added.to = o.len()
	if from.Value != nil {
		l.base.from = b.find(v.base, from.Value, from.Not)
		l.added.from = o.rank(edge(from.Value, from.Not))
	}
	if to.Value != nil {
		l.base.to = b.find(v.base, to.Value, !to.Not)
		l.added.to = o.rank(edge(to.Value, !to.Not))
	}
	if l.base.to < l.base.from || l.added.to < l.added.from {
		return Rows{}
	}
	return l
}

// orderedBy returns the same rows, with an order that the base lacks as the only one.
func (v *version) orderedBy(m *Member) *version {
	b := *v.base
	b.orders = []baseOrder{newBaseOrder(&b, m)}
	w := v.edit(true)
	w.base, w.orders, w.free = &b, nil, nil
	v.rows.each(func(r *record) bool {
		var before, after []byte
		if !r.inserted {
			_, before = b.row(uint32(r.seq))
		}
		if !r.isDeleted() {
			after = r.json()
		}
		w.reorder(r.seq, before, after, 0)
		return true
	})
	return w
}

// edge returns an entry before or after all entries with a value.
func edge(value []byte, after bool) entry {
	if after {
		return entry{value, math.MaxUint64}
	}
	return entry{value: value}
}

// Rank returns how many rows of the list come before a row, which is given by its seq and, in lists
// ordered by a member, its value. The row itself may be gone.
func (l Rows) Rank(value []byte, seq uint64) int {
	if l.v == nil {
		return 0
	}
	n := l.v.base.Len()
	if l.order == insertion {
		return l.v.rows.rank(n, seq)
	}
	b := &l.v.base.orders[l.order]
	low, high := b.find(l.v.base, value, false), b.find(l.v.base, value, true)
	at := low + sort.Search(high-low, func(i int) bool { return uint64(b.row[low+i]) >= seq })
	gone := l.gone()
	at = max(l.base.from, min(l.base.to, at))
	added := max(l.added.from, min(l.added.to, l.changed().rank(entry{value, seq})))
	return gone.rank(n, uint64(at)) - gone.rank(n, uint64(l.base.from)) + added - l.added.from
}

// Value appends the value of a row by which the list is ordered; in the order of insertion it
// appends nothing.
func (l Rows) Value(r Row, to []byte) []byte {
	if l.v == nil || l.order == insertion {
		return to
	}
	return l.v.base.orders[l.order].member.Value(r.JSON, to)
}
