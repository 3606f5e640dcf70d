package data

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// page is one page of a list.
type page struct {
	style string // "" if all rows are on one page

	backward bool // the request used ending_before
	rows     []state.Row
	number   int // counted from 1
	size     int
	offset   int
	total    int
	more     bool   // more rows follow or, if backward, precede
	next     string // the cursor of the next page; "" if none
}

// forms are the bodies of lists, by page style. The arguments are those of body.
var forms = map[string]string{
	"page":   `{"items":%[1]s,"pagination":{"page":%[2]d,"limit":%[3]d,"total":%[5]d,"totalPages":%[6]d}}`,
	"offset": `{"items":%[1]s,"offset":%[4]d,"limit":%[3]d,"total":%[5]d}`,
	"cursor": `{"items":%[1]s,"next":%[8]s,"has_more":%[7]t}`,
	"after":  `{"data":%[1]s,"has_more":%[7]t}`,
	// that of json-server 1.0
	"per-page": `{"first":1,"prev":%[9]s,"next":%[10]s,"last":%[11]d,"pages":%[11]d,"items":%[5]d,"data":%[1]s}`,
	// the page as list templates see it
	"template": `{"total":%[5]d,"page":%[2]d,"limit":%[3]d,"offset":%[4]d,"totalPages":%[6]d,"has_more":%[7]t,"next":%[8]s}`,
}

// body returns the body of a list in a form.
func (p *page) body(form string, items []byte) []byte {
	if forms[form] == "" {
		return items
	}
	next := "null"
	if p.next != "" {
		next = `"` + p.next + `"`
	}
	number := func(n int, exists bool) string {
		if !exists {
			return "null"
		}
		return strconv.Itoa(n)
	}
	return fmt.Appendf(nil, forms[form], items, p.number, p.size, p.offset, p.total, p.pages(), p.more, next,
		number(p.number-1, p.number > 1), number(p.number+1, p.more), max(1, p.pages()))
}

func (p *page) pages() int { return (p.total + p.size - 1) / max(p.size, 1) }

// number returns the value of a parameter, which must be an integer that is not below least. If the
// parameter is missing, number returns otherwise.
func (o *Operation) number(d *demands, name string, otherwise, least int) (n int, failed *Failed) {
	name = o.parameter(name)
	if !d.args.Has(name) {
		return otherwise, nil
	}
	text := string(d.args.Peek(name))
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, refuse(reply.BadPage, "%s is %q; expected an integer from %d", name, wording.Clip(text), least)
	}
	return n, nil
}

// page returns the page of a list that the request asks for.
func (o *Operation) page(l *state.List, d *demands, part []byte, w *work) (*page, *Failed) {
	settings := &o.config.Page
	if settings.Off {
		if n := l.Len(); n > item.WholeList {
			return nil, refuse(reply.TooManyRows, "the list has %d rows; without pages at most %d are allowed", n, item.WholeList)
		}
		return &page{rows: l.Page(0, l.Len()), number: 1, size: max(1, l.Len())}, nil
	}
	p := &page{style: settings.Style, number: 1}
	var failed *Failed
	limit := "limit"
	if o.config.Dialect != "" && d.args.Has("_page") && d.args.Has("_per_page") { // as in version 1.0 of json-server
		limit = "per_page"
	}
	if p.size, failed = o.number(d, limit, o.pageSize(d), 1); failed != nil {
		return nil, failed
	}
	p.size = min(p.size, o.most)
	switch p.style {
	case "offset":
		p.offset, failed = o.number(d, "offset", 0, 0)
		p.number = p.offset/p.size + 1
	case "cursor":
		p.offset, failed = o.fromCursor(l, d)
	case "after":
		p.offset, failed = o.fromKey(l, d, part, w, p)
	default:
		if o.isSlice(d) {
			return o.sliced(l, d, p)
		}
		p.style = "link"
		if settings.Style != "" {
			p.style = settings.Style
		}
		if p.number, failed = o.number(d, "page", 1, 1); failed == nil {
			if limit != "limit" {
				p.style, p.total = "per-page", l.Len()
				p.number = min(p.number, max(1, p.pages()))
			}
			p.offset = min(p.number-1, l.Len()/p.size+1) * p.size
		}
	}
	if failed != nil {
		return nil, failed
	}
	p.rows = l.Page(min(p.offset, l.Len()), p.size)
	if p.more = p.offset+len(p.rows) < l.Len(); p.backward {
		p.more = p.offset > 0
	}
	if p.more && !p.backward && len(p.rows) > 0 {
		p.next = o.cursor(d, p.rows[len(p.rows)-1])
	}
	return p, nil
}

// asks reports whether a parameter affects which rows a list has, or in which order.
func (o *Operation) asks(param string) bool {
	name, _, _ := strings.Cut(param, "[")
	return param == "sort" || memberOf(o.filters, name) != nil
}

// signature identifies the list of a resource that a cursor belongs to.
func (o *Operation) signature(d *demands) uint32 {
	h := fnv.New32a()
	write := func(b []byte) {
		_, _ = h.Write(b) // never fails
		_, _ = h.Write([]byte{0})
	}
	write([]byte(o.config.Key + o.set.declared.Name))
	for i := range o.parents { // their conditions come first in d.where
		write(d.where[i].From.Value)
	}
	for key, value := range d.args.All() {
		if o.asks(string(key)) {
			write(key)
			write(value)
		}
	}
	return h.Sum32()
}

// cursor returns the position after a row as a text. The cursor stays valid when rows are inserted
// and deleted, because it contains the seq of the row, and the values that the list is filtered and
// ordered by.
func (o *Operation) cursor(d *demands, last state.Row) string {
	b := binary.BigEndian.AppendUint32(nil, o.signature(d))
	b = binary.AppendUvarint(b, last.Seq)
	members := make([]*state.Member, 0, len(d.by)+len(d.where))
	for _, s := range d.by {
		members = append(members, s.Member)
	}
	for i := range d.where {
		if d.where[i].Test == nil {
			members = append(members, d.where[i].Member)
		}
	}
	row := json.Value{Kind: json.Object, Raw: []byte("{}")}
	for _, m := range members {
		way := strings.Split(m.Name, ".")
		if v := edit.Member(last.JSON, way); v.Kind != json.Missing {
			row.Raw = edit.AppendWith(nil, row, way, v.Raw)
		}
	}
	b = append(b, row.Raw...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// fromCursor returns the position after the row that the request's cursor names, or 0 if there is no
// cursor.
func (o *Operation) fromCursor(l *state.List, d *demands) (int, *Failed) {
	name := o.parameter("cursor")
	if len(d.args.Peek(name)) == 0 {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(string(d.args.Peek(name)))
	if err == nil && len(b) > 4 && binary.BigEndian.Uint32(b) == o.signature(d) {
		if seq, n := binary.Uvarint(b[4:]); n > 0 && json.Parse(b[4+n:]).Kind == json.Object {
			return l.Rank(state.Row{Seq: seq, JSON: b[4+n:]}, true), nil
		}
	}
	return 0, refuse(reply.BadCursor, "%s is not a cursor of this list", name)
}

// fromKey returns the position that starting_after or ending_before asks for. For ending_before, it
// also sets the size of the page, and marks the page as backward.
func (o *Operation) fromKey(l *state.List, d *demands, part []byte, w *work, p *page) (int, *Failed) {
	for _, name := range []string{"starting_after", "ending_before"} {
		param := o.parameter(name)
		if !d.args.Has(param) {
			continue
		}
		key := d.args.Peek(param)
		row, _ := o.set.get(&w.tx, part, w.keep(key))
		if !row.Found() {
			return 0, refuse(reply.BadCursor, "%s is %q; no such row exists", param, wording.Clip(string(key)))
		}
		if name == "starting_after" {
			return l.Rank(row, true), nil
		}
		before := l.Rank(row, false)
		from := max(0, before-p.size)
		p.size, p.backward = before-from, true
		return from, nil
	}
	return 0, nil
}

// links adds the header fields of the page style "link".
func (o *Operation) links(p *page, r *matcher.Request, d *demands, out *reply.Reply) {
	if p.style == "link" || o.config.Dialect != "" {
		out.Add("X-Total-Count", strconv.Itoa(p.total))
	}
	if p.style != "link" {
		return
	}
	last := max(1, p.pages())
	var value []byte
	link := func(number int, relation string) {
		var args fasthttp.Args
		for key, value := range d.args.All() {
			if string(key) != o.parameter("page") {
				args.AddBytesKV(key, value)
			}
		}
		args.Set(o.parameter("page"), strconv.Itoa(number))
		if value != nil {
			value = append(value, ", "...)
		}
		value = append(append(append(value, '<'), r.Path()...), '?')
		value = append(append(append(args.AppendBytes(value), `>; rel="`...), relation...), '"')
	}
	link(1, "first")
	if p.number > 1 {
		link(min(p.number-1, last), "prev")
	}
	if p.number < last {
		link(p.number+1, "next")
	}
	link(last, "last")
	out.Add("Link", string(value))
}
