package traffic

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

const (
	// inTurn is the maximum number of answers of one key that become rows.
	inTurn = 1000
	// inlineRows and inlineSize are the maximum numbers of rows, and of the bytes of their bodies,
	// that are written into the configuration instead of a file.
	inlineRows = 50
	inlineSize = 32 << 10
	// maxRowKey is the longest text that can be the key of a row, in bytes.
	maxRowKey = 512
)

// rowSet is a set of rows with the answers of a group, each found by its key.
type rowSet struct {
	g        *group
	name     string
	rows     []row
	turns    bool     // a key has several rows, which are served in turn
	parts    bool     // rows say which part they belong to
	types    bool     // rows have the content type
	varying  []string // names; a name comes as often as the header
	byColumn *column  // the only column of the key, whose values are the keys of rows; nil otherwise
}

// row is the answer of one record.
type row struct {
	index  int // of a record with the key
	record *record
	part   *part
}

// rows makes the rows of parts, and adds the set to the draft.
func (g *group) rows(parts []*part) *rowSet {
	s := &rowSet{g: g, name: g.slug, parts: len(parts) > 1}
	for _, p := range parts {
		var usual []*record
		for _, k := range p.keys {
			before := len(s.rows)
			for _, r := range k.records {
				if r.result != p.id || r.lost {
					continue
				}
				if len(s.rows)-before == inTurn {
					g.fault("only the first %d answers to one request come in turn", inTurn)
					break
				}
				s.rows = append(s.rows, row{k.index, r, p})
				usual = append(usual, r)
			}
			s.collapse(before)
			if len(s.rows) == before {
				s.rows = append(s.rows, row{k.index, k.records[0], p})
			}
			s.turns = s.turns || len(s.rows)-before > 1
		}
		if g.differ(p) {
			s.vary(usual)
		}
	}
	if len(g.key) == 1 && !s.turns && !slices.ContainsFunc(s.rows, func(r row) bool {
		v := g.value(g.key[0], r.index).Text.Value
		return v == "" || len(v) > maxRowKey
	}) {
		s.byColumn = g.key[0]
	}
	s.declare()
	return s
}

// vary adds the headers in which the usual answers of a part differ.
func (s *rowSet) vary(usual []*record) {
	fixed, varying := s.g.headers(usual)
	s.types = s.types || fieldOf(fixed, "Content-Type")+fieldOf(varying, "Content-Type") != ""
	left := slices.Clone(s.varying) // those of earlier parts that this one does not have
	for _, f := range varying {
		if strings.EqualFold(f.Name, "Content-Type") {
			continue
		}
		if i := slices.IndexFunc(left, func(n string) bool { return strings.EqualFold(n, f.Name) }); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			s.varying = append(s.varying, f.Name)
		}
	}
}

// collapse keeps only one of the rows from an index on if all of them have the same body and
// Location.
func (s *rowSet) collapse(from int) {
	same := true
	for _, r := range s.rows[from:] {
		first := s.rows[from].record
		if r.record.body != first.body || r.record.headers != first.headers && s.g.leadsTo(r.record) != s.g.leadsTo(first) {
			return
		}
		same = same && r.record.headers == first.headers
	}
	s.rows = s.rows[:min(len(s.rows), from+1)]
	if !same {
		s.g.fault("answers with the same body have the headers of the first")
	}
}

// declare adds the set to the draft.
func (s *rowSet) declare() {
	m := draft.NewMap("name", s.name)
	if s.byColumn != nil {
		m.Set("key", draft.Of("k1"))
	} else {
		m.Set("key", draft.Of("row"))
		var index []string
		for i := range s.g.key {
			index = append(index, "k"+strconv.Itoa(i+1))
		}
		if len(index) > 0 {
			m.Set("index", draft.Flow(index))
		}
	}
	var size int64
	for _, r := range s.rows {
		size += s.g.store.size(r.record.body)
	}
	if len(s.rows) <= inlineRows && size <= inlineSize {
		rows := syntax.NewList()
		for i := range s.rows {
			rows.Append(draft.Flow(s.members(i)))
		}
		m.Set("rows", rows)
	} else {
		name := s.g.draft.AddFile(draft.File{Name: "data/" + s.name + ".ndjson", Write: s.write})
		m.Set("from", draft.Flow(draft.NewMap("path", name)))
	}
	s.g.draft.Add("data", m, s.comment()...)
}

// comment describes the columns of the key.
func (s *rowSet) comment() []string {
	if len(s.g.key) == 0 {
		return []string{s.g.name + ": the answers in their order"}
	}
	var parts []string
	for i, c := range s.g.key {
		parts = append(parts, "k"+strconv.Itoa(i+1)+" is "+c.operand())
	}
	return []string{s.g.name + ": the answers; " + strings.Join(parts, ", ")}
}

// write writes the rows as lines of JSON.
func (s *rowSet) write(w io.Writer) error {
	for i := range s.rows {
		if _, err := io.WriteString(w, language.JSON(s.members(i))+"\n"); err != nil {
			return err
		}
		if s.g.store.err != nil {
			return s.g.store.err
		}
	}
	return nil
}

// members returns the members of a row.
func (s *rowSet) members(i int) *syntax.Node {
	r := s.rows[i]
	m := syntax.NewMap()
	if s.byColumn == nil {
		m.Set("row", draft.Of(i+1))
	}
	for k, c := range s.g.key {
		m.Set("k"+strconv.Itoa(k+1), s.g.value(c, r.index))
	}
	if s.parts {
		m.Set("part", draft.Of(r.part.name()))
	}
	fields := split(s.g.store.get(r.record.headers, &s.g.buf[0]))
	if s.types {
		m.Set("type", draft.Of(fieldOf(fields, "Content-Type")))
	}
	for h, name := range s.varying {
		m.Set("h"+strconv.Itoa(h+1), draft.Of(fieldOf(fields, name)))
		if i := slices.IndexFunc(fields, func(f draft.Field) bool { return strings.EqualFold(f.Name, name) }); i >= 0 {
			fields = slices.Delete(fields, i, i+1) // the next column of this name has the next value
		}
	}
	return s.content(m, r.record)
}

// find returns how an endpoint finds its row.
func (s *rowSet) find() *syntax.Node {
	m := draft.NewMap("in", s.name)
	switch {
	case s.byColumn != nil:
		return m.Set("key", draft.Of(s.byColumn.operand()))
	case len(s.g.key) > 0:
		where := syntax.NewMap()
		for i, c := range s.g.key {
			where.Set("k"+strconv.Itoa(i+1), draft.Of(c.operand()))
		}
		m.Set("where", draft.Flow(where))
	}
	if s.turns || len(s.g.key) == 0 {
		m.Set("pick", draft.Of("next"))
	}
	return m
}

// headers returns the headers of a response whose body comes from a row: a Content-Type that is a
// placeholder makes the body a text that is sent unchanged.
func (s *rowSet) headers(fixed, varying []draft.Field) *syntax.Node {
	typed := fieldOf(fixed, "Content-Type")+fieldOf(varying, "Content-Type") != ""
	fixed = slices.DeleteFunc(slices.Clone(fixed), func(f draft.Field) bool { return strings.EqualFold(f.Name, "Content-Type") })
	for i := range fixed {
		fixed[i].Value = draft.Literal(fixed[i].Value)
	}
	if typed {
		fixed = append(fixed, draft.Field{Name: "Content-Type", Value: "{{answer.type}}"})
	}
	for i, name := range s.varying {
		if k := slices.IndexFunc(varying, func(f draft.Field) bool { return strings.EqualFold(f.Name, name) }); k >= 0 {
			fixed = append(fixed, draft.Field{Name: name, Value: "{{answer.h" + strconv.Itoa(i+1) + "}}"})
			varying = slices.Delete(slices.Clone(varying), k, k+1)
		}
	}
	return headerMap(fixed)
}

// differ reports whether the bodies or Locations of the usual answers of a part differ. Streams are always rows, unless
// they are to be exact.
func (g *group) differ(p *part) bool {
	if p.id.stream {
		return !g.opts.Exact
	}
	var one *record
	for _, k := range p.keys {
		for _, r := range k.records {
			if r.result != p.id || r.lost {
				continue
			}
			if one != nil && (r.body != one.body || g.leadsTo(r) != g.leadsTo(one)) {
				return true
			}
			one = r
		}
	}
	return false
}
