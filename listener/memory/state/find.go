package state

import (
	"bytes"
	"slices"
	"sort"
)

// MaxSifted is the maximum number of rows that are checked one by one in a search for several
// values.
const MaxSifted = 100_000

// Equal is a value that a member must have, in the form that Member.Value returns. Order is a
// result of Set.Order.
type Equal struct {
	Order int
	Value []byte

	member *Member // set if the rows have no such order
}

// onto returns the values for the set that requests use in place of this one.
func (s *Set) onto(all []Equal) []Equal {
	to := s.latest()
	if to == s || len(all) == 0 {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		m, known := &s.Members[all[i].Order], false
		if all[i].Order, known = to.Order(m.Name); !known {
			all[i].member = m
		}
	}
	return all
}

// Having is a list of the rows that have given values, in the order of insertion.
type Having struct {
	list   Rows
	value  []byte // value that all rows of the list have
	sifted []Row  // used instead of the list if not nil
}

// Len returns the number of rows.
func (h Having) Len() int {
	if h.sifted != nil {
		return len(h.sifted)
	}
	return h.list.Len()
}

// At returns the k-th row, counted from 0, which must exist.
func (h Having) At(k int) Row {
	if h.sifted != nil {
		return h.sifted[k]
	}
	return h.list.At(k)
}

// Rank returns how many rows have seqs below the given one.
func (h Having) Rank(seq uint64) int {
	if h.sifted != nil {
		return sort.Search(len(h.sifted), func(i int) bool { return h.sifted[i].Seq >= seq })
	}
	return h.list.Rank(h.value, seq)
}

// narrowest returns, of the lists of rows that have one of the values, the shortest, and the index
// of its value. Without values, it returns all rows and -1.
func (v *version) narrowest(all []Equal) (rows Rows, by int) {
	rows, by = Rows{v: v, order: insertion}, -1
	for i, e := range all {
		if e.member != nil {
			continue
		}
		at := Bound{Value: e.Value}
		if list := v.within(e.Order, at, at); by < 0 || list.Len() < rows.Len() {
			rows, by = list, i
		}
	}
	return rows, by
}

// first implements Tx.First; rows with the seqs in others are left out.
func (v *version) first(all []Equal, last bool, others []uint64) (found Row, ok bool) {
	rows, by := v.narrowest(all)
	from, step := 0, 1
	if last {
		from, step = rows.Len()-1, -1
	}
	looked := 0
	rows.Each(from, step, func(r Row) bool {
		if looked++; looked > MaxSifted {
			return false
		}
		if v.has(r, all, by) && !slices.Contains(others, r.Seq) {
			found = r
		}
		return !found.Found()
	})
	return found, looked <= MaxSifted
}

// has reports whether a row has all values; the row is known to have the value at index known.
func (v *version) has(r Row, all []Equal, known int) bool {
	var room [128]byte
	for i, e := range all {
		if i == known {
			continue
		}
		m := e.member
		if m == nil {
			m = &v.base.orders[e.Order].member
		}
		if !bytes.Equal(m.Value(r.JSON, room[:0]), e.Value) {
			return false
		}
	}
	return true
}
