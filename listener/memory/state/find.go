package state

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// MaxSifted is the maximum number of rows that are checked one by one. The rows that meet one
// condition are checked one by one if there are further conditions, or if another order is asked
// for. All other lists find their rows by position, however many there are.
const MaxSifted = 100_000

// Condition is what the value of a member must be, in the form that Member.Value returns: within a
// range or, if Any is not nil, one of these values.
type Condition struct {
	Member   *Member
	From, To Bound
	Any      [][]byte
	Not      bool                  // the value must be none of those
	Test     func(row []byte) bool // instead, if not nil: the rows for which it holds, which are sifted
}

// Equals returns the condition that a member has a value.
func Equals(m *Member, value []byte) Condition {
	at := Bound{Value: value}
	return Condition{Member: m, From: at, To: at}
}

// Meets reports whether a row meets the condition.
func (c *Condition) Meets(json []byte) bool {
	if c.Test != nil {
		return c.Test(json)
	}
	var room [128]byte
	value := c.Member.Value(json, room[:0])
	if c.Any != nil {
		return slices.ContainsFunc(c.Any, func(v []byte) bool { return bytes.Equal(v, value) }) != c.Not
	}
	from, to := bytes.Compare(value, c.From.Value), bytes.Compare(value, c.To.Value)
	return ((c.From.Value == nil || from > 0 || from == 0 && !c.From.Not) && (c.To.Value == nil || to < 0 || to == 0 && !c.To.Not)) != c.Not
}

// value returns the only value that meets the condition, or nil if there may be several.
func (c *Condition) value() []byte {
	switch {
	case c.Not:
	case c.Any != nil:
		if !slices.ContainsFunc(c.Any, func(v []byte) bool { return !bytes.Equal(v, c.Any[0]) }) {
			return c.Any[0]
		}
	case !c.From.Not && !c.To.Not && bytes.Equal(c.From.Value, c.To.Value):
		return c.From.Value
	}
	return nil
}

// candidates are rows among which are all those that meet several conditions: those of one range
// or, if there are several, of these. They are known to meet the condition with the index by, -1
// for none.
type candidates struct {
	one     Rows
	several []Rows
	n, by   int
}

func (c *candidates) each(from, step int, f func(Row) bool) {
	if c.several == nil {
		c.one.Each(from, step, f)
	}
	for _, rows := range c.several {
		rows.Each(0, 1, f)
	}
}

// narrowest returns the fewest candidates that an order finds. Without conditions, these are all
// rows.
func (v *version) narrowest(all []Condition) candidates {
	best := candidates{one: Rows{v: v, order: insertion}, n: v.len(), by: -1}
	for i := range all {
		c := &all[i]
		if c.Not || c.Test != nil {
			continue
		}
		order := v.base.order(c.Member)
		if order < 0 {
			continue
		}
		next := candidates{by: i}
		if value := c.value(); value != nil {
			at := Bound{Value: value}
			next.one = v.within(order, at, at)
			next.n = next.one.Len()
		} else if c.Any == nil {
			next.one = v.within(order, c.From, c.To)
			next.n = next.one.Len()
		} else {
			values := slices.Clone(c.Any)
			slices.SortFunc(values, bytes.Compare)
			for _, value := range slices.CompactFunc(values, bytes.Equal) {
				at := Bound{Value: value}
				rows := v.within(order, at, at)
				next.several = append(next.several, rows)
				next.n += rows.Len()
			}
		}
		if best.by < 0 || next.n < best.n {
			best = next
		}
	}
	return best
}

// meet reports whether a row meets all conditions; it is known to meet the one with index known.
func meet(all []Condition, r Row, known int) bool {
	for i := range all {
		if i != known && !all[i].Meets(r.JSON) {
			return false
		}
	}
	return true
}

// first implements Tx.First, for conditions without Any; rows with the seqs in others are left out.
func (v *version) first(all []Condition, last bool, others []uint64) (found Row, ok bool) {
	c := v.narrowest(all)
	from, step := 0, 1
	if last {
		from, step = c.n-1, -1
	}
	looked := 0
	c.each(from, step, func(r Row) bool {
		if looked++; looked > MaxSifted {
			return false
		}
		if meet(all, r, c.by) && !slices.Contains(others, r.Seq) {
			found = r
		}
		return !found.Found()
	})
	return found, looked <= MaxSifted
}

// Sorting is a member that a list is ordered by.
type Sorting struct {
	Member *Member
	Down   bool
}

// List is a list of rows that meet conditions, accessed by position.
type List struct {
	rows   Rows
	value  []byte // that all rows have; nil if the rows are not those of one value
	down   bool   // in descending order
	sifted []Row  // used instead of rows if not nil
	by     []Sorting
}

// Find returns the rows of a part that meet all conditions, ordered by members and then in the
// order of insertion, without what the transaction has written. If ok is false, n is the number of
// rows that Find would need to look at, which is more than MaxSifted.
func (t *Tx) Find(set *Set, part []byte, all []Condition, by []Sorting) (l List, n int, ok bool) {
	l.by = by
	single := len(by) == 1
	if len(all) == 0 && single {
		l.rows, l.down = t.Within(set, part, by[0].Member, Bound{}, Bound{}), by[0].Down
		return l, 0, true
	}
	c := t.views[t.view(set, part)].v.narrowest(all)
	l.rows = c.one
	switch {
	case len(all) == 0 && len(by) == 0:
		return l, 0, true
	case len(all) == 1 && c.by == 0 && c.several == nil:
		l.value = all[0].value()
		if len(by) == 0 && l.value != nil || single && by[0].Member == all[0].Member {
			l.down = single && by[0].Down
			return l, 0, true
		}
	}
	if c.n > MaxSifted {
		return l, c.n, false
	}
	l.sifted = make([]Row, 0, c.n)
	c.each(0, 1, func(r Row) bool {
		if meet(all, r, c.by) {
			l.sifted = append(l.sifted, r)
		}
		return true
	})
	slices.SortFunc(l.sifted, l.compare)
	return l, 0, true
}

// Len returns the number of rows.
func (l *List) Len() int {
	if l.sifted != nil {
		return len(l.sifted)
	}
	return l.rows.Len()
}

// At returns the k-th row, counted from 0, which must exist, of a list without Sorting.
func (l *List) At(k int) Row {
	if l.sifted != nil {
		return l.sifted[k]
	}
	return l.rows.At(k)
}

// Page returns at most n rows, starting at position k.
func (l *List) Page(k, n int) []Row {
	n = max(0, min(n, l.Len()-k))
	switch {
	case l.sifted != nil:
		return l.sifted[min(k, len(l.sifted)):][:n]
	case l.down:
		return l.descending(k, n)
	}
	return l.ascending(make([]Row, 0, n), k, n)
}

// ascending appends n rows, starting at position k of the rows in ascending order.
func (l *List) ascending(to []Row, k, n int) []Row {
	if n > 0 {
		l.rows.Each(k, 1, func(r Row) bool {
			to, n = append(to, r), n-1
			return n > 0
		})
	}
	return to
}

// descending returns n rows, starting at position k of the rows in descending order. Rows with equal
// values are in the order of insertion.
func (l *List) descending(k, n int) []Row {
	rows := make([]Row, 0, n)
	if n == 0 {
		return rows
	}
	first := l.rows.Len() - 1 - k
	from, to := l.equals(l.rows.At(first))
	at := from + to - 1 - first
	rows = l.ascending(rows, at, min(n, to-at))
	run, value := len(rows), []byte(nil) // where the rows with the last value begin, and that value
	if run == n {
		return rows
	}
	var next []byte
	l.rows.Each(from-1, -1, func(r Row) bool {
		if next = l.rows.Value(r, next[:0]); !bytes.Equal(next, value) {
			slices.Reverse(rows[run:])
			run, value, next = len(rows), next, value
		}
		rows = append(rows, r)
		return len(rows) < n
	})
	from, _ = l.equals(rows[run]) // there may be more rows with the last value than were read
	return l.ascending(rows[:run], from, n-run)
}

// equals returns the positions, in ascending order, of the rows with the value of r.
func (l *List) equals(r Row) (from, to int) {
	value := l.rows.Value(r, nil)
	return l.rows.Rank(value, 0), l.rows.Rank(value, math.MaxUint64)
}

// Rank returns how many rows come before a row or, if after is set, before or at it. The row may be
// gone.
func (l *List) Rank(r Row, after bool) int {
	if l.sifted != nil {
		i, found := slices.BinarySearchFunc(l.sifted, r, l.compare)
		if found && after {
			i++
		}
		return i
	}
	seq := r.Seq
	if after {
		seq++
	}
	value := l.value // not that of the row, which may have changed since it was on a page
	if value == nil {
		value = l.rows.Value(r, nil)
	}
	at := l.rows.Rank(value, seq)
	if l.down {
		from, to := l.rows.Rank(value, 0), l.rows.Rank(value, math.MaxUint64)
		return l.rows.Len() - to + at - from
	}
	return at
}

// compare compares two rows in the order of the list.
func (l *List) compare(a, b Row) int {
	for _, s := range l.by {
		if c := bytes.Compare(s.Member.Value(a.JSON, nil), s.Member.Value(b.JSON, nil)); c != 0 {
			if s.Down {
				return -c
			}
			return c
		}
	}
	return cmp.Compare(a.Seq, b.Seq)
}
