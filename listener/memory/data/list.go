package data

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// maxSifted is the maximum number of rows that a list may check one by one. The rows that have a
// requested value are checked one by one if the request has further conditions or another order.
// All other lists find their rows by position, however many there are.
const maxSifted = state.MaxSifted

// demands holds what a request asks of a list.
type demands struct {
	where []wanted
	by    []sorting
	args  *fasthttp.Args
}

// wanted is a member with its accepted values, or a range of values.
type wanted struct {
	order  int
	values [][]byte // the member must have one of them; nil for a range
	not    bool     // the member must have none of them
	fixed  bool     // the value is from the path
	from   state.Bound
	to     state.Bound
}

// sorting is a member that the list is ordered by.
type sorting struct {
	order int
	down  bool
}

// listing holds the rows of a list, accessed by position.
type listing struct {
	rows   state.Rows
	value  []byte      // that all rows have; nil if the rows are not those of one value
	down   bool        // in descending order
	sifted []state.Row // used instead of rows if not nil
	by     []sorting
	set    *set
}

func (l *listing) len() int {
	if l.sifted != nil {
		return len(l.sifted)
	}
	return l.rows.Len()
}

// page returns at most n rows, starting at position k.
func (l *listing) page(k, n int) []state.Row {
	n = max(0, min(n, l.len()-k))
	switch {
	case l.sifted != nil:
		return l.sifted[min(k, len(l.sifted)):][:n]
	case l.down:
		return l.descending(k, n)
	}
	return l.ascending(make([]state.Row, 0, n), k, n)
}

// ascending appends n rows, starting at position k of the rows in ascending order.
func (l *listing) ascending(to []state.Row, k, n int) []state.Row {
	if n > 0 {
		l.rows.Each(k, 1, func(r state.Row) bool {
			to, n = append(to, r), n-1
			return n > 0
		})
	}
	return to
}

// descending returns n rows, starting at position k of the rows in descending order. Rows with equal
// values are in the order of insertion.
func (l *listing) descending(k, n int) []state.Row {
	rows := make([]state.Row, 0, n)
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
	l.rows.Each(from-1, -1, func(r state.Row) bool {
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
func (l *listing) equals(r state.Row) (from, to int) {
	value := l.rows.Value(r, nil)
	return l.rows.Rank(value, 0), l.rows.Rank(value, math.MaxUint64)
}

// rank returns how many rows come before a row or, if after is set, before or at it. The row is that
// of a cursor and may be gone.
func (l *listing) rank(r state.Row, after bool) int {
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
func (l *listing) compare(a, b state.Row) int {
	for _, s := range l.by {
		m := l.set.options.Members[s.order]
		if c := bytes.Compare(m.Value(a.JSON, nil), m.Value(b.JSON, nil)); c != 0 {
			if s.down {
				return -c
			}
			return c
		}
	}
	switch {
	case a.Seq < b.Seq:
		return -1
	case a.Seq > b.Seq:
		return 1
	}
	return 0
}

// demands reads what a request asks of a list. The conditions for the parents come first.
func (o *Operation) demands(r *matcher.Request) (*demands, *Failed) {
	d := &demands{args: &fasthttp.Args{}}
	d.args.ParseBytes(r.QueryString())
	for _, p := range o.parents {
		value := appendOrderedParam(nil, r.Param(p.param))
		d.where = append(d.where, wanted{order: p.order, values: [][]byte{value}, fixed: true})
	}
	for key, value := range d.args.All() {
		name, op, _ := strings.Cut(strings.TrimSuffix(string(key), "]"), "[")
		switch i := slices.IndexFunc(o.filters, func(m ordered) bool { return m.name == name }); {
		case i >= 0 && d.ask(o.filters[i].order, op, value):
		case name == "sort" && op == "" && len(o.sorts) > 0:
			if failed := d.sort(o, string(value)); failed != nil {
				return nil, failed
			}
		case o.config.Strict && !o.known(string(key)):
			return nil, refuse(reply.UnknownParameter, "this list has no parameter %q", wording.Clip(string(key)))
		}
	}
	return d, nil
}

// appendOrderedParam appends a parameter in the form in which the order of a member stores its
// values.
func appendOrderedParam(dst, text []byte) []byte {
	return renderer.AppendOrdered(dst, json.Value{Kind: json.String, Raw: edit.Text(text)})
}

// ask adds a filter. It reports false for an unknown operator.
func (d *demands) ask(order int, op string, text []byte) bool {
	value := appendOrderedParam(nil, text)
	w := wanted{order: order}
	switch op {
	case "", "eq", "in":
		w.values = [][]byte{value}
		if op == "in" {
			w.values = w.values[:0]
			for part := range bytes.SplitSeq(text, []byte{','}) {
				w.values = append(w.values, appendOrderedParam(nil, part))
			}
		}
		for i := range d.where { // a repeated filter accepts any of its values
			if d.where[i].order == order && d.where[i].values != nil && !d.where[i].not && !d.where[i].fixed {
				d.where[i].values = append(d.where[i].values, w.values...)
				return true
			}
		}
	case "ne":
		w.values, w.not = [][]byte{value}, true
	case "gt", "gte":
		w.from = state.Bound{Value: value, Not: op == "gt"}
	case "lt", "lte":
		w.from = state.Bound{Value: renderer.AppendOrdered(nil, json.Value{}), Not: true} // nulls and missing values have no order
		if one := renderer.AppendOrdered(nil, json.Parse([]byte("1"))); value[0] == one[0] {
			w.from = state.Bound{Value: one[:1]} // nor are booleans less than a number
		}
		w.to = state.Bound{Value: value, Not: op == "lt"}
	default:
		return false
	}
	d.where = append(d.where, w)
	return true
}

// sort reads the value of the parameter sort, such as "-created,name".
func (d *demands) sort(o *Operation, text string) *Failed {
	for part := range strings.SplitSeq(text, ",") {
		name, down := strings.CutPrefix(part, "-")
		i := slices.IndexFunc(o.sorts, func(m ordered) bool { return m.name == name })
		switch {
		case i >= 0:
			d.by = append(d.by, sorting{o.sorts[i].order, down})
		case o.config.Strict:
			return refuse(reply.UnknownParameter, "lists are not sorted by %q", wording.Clip(name))
		}
	}
	return nil
}

// holds reports whether a row meets the filter.
func (w *wanted) holds(m state.Member, row []byte) bool {
	var room [128]byte
	value := m.Value(row, room[:0])
	if w.values != nil {
		return slices.ContainsFunc(w.values, func(v []byte) bool { return bytes.Equal(v, value) }) != w.not
	}
	from, to := bytes.Compare(value, w.from.Value), bytes.Compare(value, w.to.Value)
	return (w.from.Value == nil || from > 0 || from == 0 && !w.from.Not) && (w.to.Value == nil || to < 0 || to == 0 && !w.to.Not)
}

// ranges returns the rows that meet the filter, as ranges of its order; ok is false if there are no
// such ranges.
func (w *wanted) ranges(set *set, part []byte, tx *state.Tx) (all []state.Rows, ok bool) {
	if w.not {
		return nil, false
	}
	if w.values == nil {
		return []state.Rows{tx.Within(set.Set, part, w.order, w.from, w.to)}, true
	}
	values := slices.Clone(w.values)
	slices.SortFunc(values, bytes.Compare)
	for _, v := range slices.CompactFunc(values, bytes.Equal) {
		at := state.Bound{Value: v}
		all = append(all, tx.Within(set.Set, part, w.order, at, at))
	}
	return all, true
}

// listing returns the rows that a request asks for.
func (o *Operation) listing(d *demands, part []byte, w *work) (*listing, *Failed) {
	l := &listing{by: d.by, set: o.set}
	single := len(d.by) == 1
	switch {
	case len(d.where) == 0 && len(d.by) == 0:
		l.rows = w.tx.Rows(o.set.Set, part)
		return l, nil
	case len(d.where) == 0 && single:
		l.rows, l.down = w.tx.Within(o.set.Set, part, d.by[0].order, state.Bound{}, state.Bound{}), d.by[0].down
		return l, nil
	}
	candidates := []state.Rows{w.tx.Rows(o.set.Set, part)}
	fewest, from := candidates[0].Len(), -1
	for i := range d.where {
		ranges, ok := d.where[i].ranges(o.set, part, &w.tx)
		n := 0
		for _, rows := range ranges {
			n += rows.Len()
		}
		if ok && (from < 0 || n < fewest) {
			candidates, fewest, from = ranges, n, i
		}
	}
	if len(d.where) == 1 && from == 0 && len(candidates) == 1 {
		first := &d.where[0]
		if len(d.by) == 0 && first.values != nil || single && d.by[0].order == first.order {
			l.rows, l.down = candidates[0], single && d.by[0].down
			if first.values != nil {
				l.value = first.values[0]
			}
			return l, nil
		}
	}
	if fewest > maxSifted {
		return nil, refuse(reply.TooManyRows, "%d rows would have to be looked at one by one, and at most %d are allowed; ask for fewer, or for one member without an order", fewest, maxSifted)
	}
	l.sift(d, candidates, from, fewest)
	return l, nil
}

// sift fills the list with the candidates that meet all filters, in order. All candidates are known
// to meet the filter with index from.
func (l *listing) sift(d *demands, candidates []state.Rows, from, n int) {
	l.sifted = make([]state.Row, 0, n)
	for _, rows := range candidates {
		rows.Each(0, 1, func(r state.Row) bool {
			for i := range d.where {
				if i != from && !d.where[i].holds(l.set.options.Members[d.where[i].order], r.JSON) {
					return true
				}
			}
			l.sifted = append(l.sifted, r)
			return true
		})
	}
	slices.SortFunc(l.sifted, l.compare)
}
