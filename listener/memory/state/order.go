package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/tidwall/btree"
)

// Member is a member of the rows that requests can search or sort by.
type Member struct {
	Name string
	Root string // the member of the row that contains it; "" if the value depends on several
	// Value appends the value that a row has for the member, in a form without zero bytes whose
	// byte order is the order of the values. Equal values have equal forms.
	Value func(json, to []byte) []byte
}

// baseOrder holds the rows of a base, ordered by a member's values and then by row number. It takes
// 12 bytes per row.
type baseOrder struct {
	member *Member
	common []byte   // the prefix that all values share
	prefix []uint64 // by position: the eight bytes after the common prefix
	row    []uint32 // by position: the number of the row
}

// order returns the index of the order of a member, or -1 if there is none.
func (b *Base) order(m *Member) int {
	for i := range b.orders {
		if b.orders[i].member.Name == m.Name {
			return i
		}
	}
	return -1
}

// newBaseOrder sorts the rows of a base. All values are in memory until it returns.
func newBaseOrder(b *Base, m *Member) baseOrder {
	n := b.Len()
	o := baseOrder{member: m, prefix: make([]uint64, n), row: make([]uint32, n)}
	ends := make([]int, n)
	var values []byte
	value := func(row uint32) []byte {
		if row == 0 {
			return values[:ends[0]]
		}
		return values[ends[row-1]:ends[row]]
	}
	for row := range n {
		_, json := b.row(uint32(row))
		values = m.Value(json, values)
		ends[row] = len(values)
		if v := value(uint32(row)); row == 0 {
			o.common = v
		} else {
			o.common = o.common[:shared(o.common, v)]
		}
	}
	o.common = bytes.Clone(o.common)
	type entry struct {
		prefix uint64
		row    uint32
	}
	entries := make([]entry, n)
	for row := range entries {
		entries[row] = entry{prefixOf(value(uint32(row))[len(o.common):]), uint32(row)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
			return c
		}
		if c := bytes.Compare(value(a.row), value(b.row)); c != 0 {
			return c
		}
		return cmp.Compare(a.row, b.row)
	})
	for i, e := range entries {
		o.prefix[i], o.row[i] = e.prefix, e.row
	}
	return o
}

// shared returns the length in bytes of the common beginning of two texts.
func shared(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// prefixOf returns the first eight bytes of a value as a number. A shorter value is padded with
// zero bytes, which no value contains.
func prefixOf(value []byte) uint64 {
	var p [8]byte
	copy(p[:], value)
	return binary.BigEndian.Uint64(p[:])
}

// compare compares a value with the value at a position.
func (o *baseOrder) compare(b *Base, value []byte, at int, scratch *[]byte) int {
	if c := o.side(value); c != 0 {
		return c
	}
	rest := value[len(o.common):]
	if c := cmp.Compare(prefixOf(rest), o.prefix[at]); c != 0 || len(rest) < 8 {
		return c
	}
	_, json := b.row(o.row[at])
	*scratch = o.member.Value(json, (*scratch)[:0])
	return bytes.Compare(value, *scratch)
}

// side returns -1 or 1 for a value that comes before or after all values with the common prefix;
// otherwise 0.
func (o *baseOrder) side(value []byte) int {
	return bytes.Compare(value[:min(len(value), len(o.common))], o.common)
}

// find returns the first position whose value is at least value or, if after is true, greater than
// value.
func (o *baseOrder) find(b *Base, value []byte, after bool) int {
	var scratch []byte
	limit := 0
	if after {
		limit = -1
	}
	return sort.Search(len(o.row), func(i int) bool { return o.compare(b, value, i, &scratch) <= limit })
}

// position returns the position of a row that has the given value.
func (o *baseOrder) position(b *Base, value []byte, row uint32) int {
	var scratch []byte
	return sort.Search(len(o.row), func(i int) bool {
		c := o.compare(b, value, i, &scratch)
		return c < 0 || c == 0 && row <= o.row[i]
	})
}

// entry is a row in the changes to an order.
type entry struct {
	value []byte
	seq   uint64
}

func (e entry) before(f entry) bool {
	if c := bytes.Compare(e.value, f.value); c != 0 {
		return c < 0
	}
	return e.seq < f.seq
}

// position is a position in a base order whose row has left it; it is a leaf of a trie.
type position uint64

func (p position) path() uint64 { return uint64(p) }
func (p position) count() int   { return -1 }

// order holds the changes made to a baseOrder.
type order struct {
	gone  trie[position]       // positions in the base order whose rows have left them
	added *btree.BTreeG[entry] // rows that are not in the base, or have another value there; nil if there are none
	own   bool                 // added belongs to one version alone
}

// orders holds the changes to all orders of a base.
type orders struct{ all []order }

func (o *order) add(e entry) {
	if o.added == nil {
		o.added = btree.NewBTreeGOptions(entry.before, btree.Options{Degree: 16, NoLocks: true})
	}
	o.added.Set(e)
}

func (o *order) remove(e entry) {
	o.added.Delete(e)
	if o.added.Len() == 0 {
		o.added = nil
	}
}

// len returns the number of entries that were added.
func (o order) len() int {
	if o.added == nil {
		return 0
	}
	return o.added.Len()
}

// entry returns the i-th added entry.
func (o order) entry(i int) entry {
	e, _ := o.added.GetAt(i)
	return e
}

// rank returns how many of the added entries come before the given one.
func (o order) rank(e entry) int {
	return sort.Search(o.len(), func(i int) bool { return !o.entry(i).before(e) })
}
