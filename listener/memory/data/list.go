package data

import (
	"bytes"
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

// demands holds what a request asks of a list.
type demands struct {
	where []state.Condition // those for the parents come first
	by    []state.Sorting
	args  *fasthttp.Args
}

// demands reads what a request asks of a list.
func (o *Operation) demands(part []byte, w *work, r *matcher.Request) (*demands, *Failed) {
	d := &demands{args: &fasthttp.Args{}}
	d.args.ParseBytes(r.QueryString())
	for _, p := range o.parents {
		d.where = append(d.where, state.Equals(p.member, appendOrderedParam(nil, r.Param(p.param))))
	}
	for key, value := range d.args.All() {
		name, op, _ := strings.Cut(strings.TrimSuffix(string(key), "]"), "[")
		if o.config.Dialect != "" {
			if known, failed := d.jsonServer(o, string(key), value); known || failed != nil {
				if failed != nil {
					return nil, failed
				}
				continue
			}
		}
		switch m := memberOf(o.filters, name); {
		case m != nil && d.ask(m, op, value, len(o.parents)):
		case name == "sort" && op == "" && len(o.sorts) > 0:
			if failed := d.sort(o, string(value)); failed != nil {
				return nil, failed
			}
		case o.config.Dialect != "" && !o.config.Strict && !o.known(string(key)):
			way := strings.Split(string(key), ".")
			has := func(row []byte) bool { return edit.Member(row, way).Kind != json.Missing }
			if row, _ := w.tx.First(o.set.Set, part, []state.Condition{{Test: has}}, false); row.Found() {
				d.ask(newMember(string(key)), "", value, len(o.parents))
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

// ask adds a filter, after the given number of conditions for parents. It reports false for an
// unknown operator.
func (d *demands) ask(m *state.Member, op string, text []byte, parents int) bool {
	value := appendOrderedParam(nil, text)
	w := state.Equals(m, value)
	switch op {
	case "", "eq", "in":
		w.Any = [][]byte{value}
		if op == "in" {
			w.Any = w.Any[:0]
			for part := range bytes.SplitSeq(text, []byte{','}) {
				w.Any = append(w.Any, appendOrderedParam(nil, part))
			}
		}
		for i := range d.where[parents:] { // a repeated filter accepts any of its values
			if before := &d.where[parents+i]; before.Any != nil && before.Member.Name == m.Name {
				before.Any = append(before.Any, w.Any...)
				return true
			}
		}
	case "ne":
		w.Not = true
	case "gt", "gte":
		w.From.Not, w.To = op == "gt", state.Bound{}
	case "lt", "lte":
		w.From = state.Bound{Value: renderer.AppendOrdered(nil, json.Value{}), Not: true} // nulls and missing values have no order
		if one := renderer.AppendOrdered(nil, json.Parse([]byte("1"))); value[0] == one[0] {
			w.From = state.Bound{Value: one[:1]} // nor are booleans less than a number
		}
		w.To.Not = op == "lt"
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
		m := memberOf(o.sorts, name)
		switch {
		case m != nil:
			d.by = append(d.by, state.Sorting{Member: m, Down: down})
		case o.config.Strict:
			return refuse(reply.UnknownParameter, "lists are not sorted by %q", wording.Clip(name))
		}
	}
	return nil
}

// rows returns the rows that a request asks for.
func (o *Operation) rows(d *demands, part []byte, w *work) (*state.List, *Failed) {
	l, n, ok := w.tx.Find(o.set.Set, part, d.where, d.by)
	if !ok {
		return nil, refuse(reply.TooManyRows, "%d rows would have to be looked at one by one, and at most %d are allowed; ask for fewer, or for one member without an order", n, state.MaxSifted)
	}
	return &l, nil
}
