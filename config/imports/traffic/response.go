package traffic

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/samples"
	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

const (
	// inOrder is the maximum number of answers of one key that are sent in their recorded order, if
	// their statuses differ.
	inOrder = 20
	// ownEndpoints is the maximum number of keys of a group that get an endpoint of their own.
	ownEndpoints = 200
	// rowBody is the largest body in a row, in bytes.
	rowBody = 4 << 20
	// knownBelow is the number of samples below which a percentile curve is unreliable.
	knownBelow = 30
)

// make writes the endpoints of the group and reports how exact they are.
func (g *group) make() {
	g.findKey()
	byKey := map[uint32]*keyed{}
	var order []*keyed
	for i, key := range g.keys {
		if byKey[key] == nil {
			byKey[key] = &keyed{index: i}
			order = append(order, byKey[key])
		}
		byKey[key].records = append(byKey[key].records, g.records[i])
		if doubt := g.records[i].doubt; doubt != 0 {
			g.fault("%s", g.words.texts[doubt])
		}
	}
	parts := map[result]*part{}
	var all []*part
	own := 0
	above := g.above()
	for _, k := range order {
		if own < ownEndpoints && g.standsAlone(k.records, len(order)) {
			own++
			g.alone(k, above)
			above = nil
			continue
		}
		id := settled(k.records)
		if k.part = parts[id]; k.part == nil {
			k.part = &part{id: id}
			parts[id] = k.part
			all = append(all, k.part)
		}
		k.part.keys = append(k.part.keys, k)
	}
	g.write(all, above)
	g.ask(order)
	g.report()
}

// standsAlone reports whether the records of a key are best written as a separate endpoint: because
// the group is small and their statuses differ, so that their order matters, or because no row can
// hold one of their bodies.
func (g *group) standsAlone(records []*record, keys int) bool {
	differ := slices.ContainsFunc(records, func(r *record) bool { return r.result != records[0].result })
	return differ && len(records) <= inOrder && len(g.records) <= few ||
		keys > 1 && slices.ContainsFunc(records, func(r *record) bool {
			return g.store.size(r.body) > rowBody || !utf8.Valid(g.store.get(r.body, &g.buf[0]))
		})
}

// alone writes the endpoint of one key, with its answers in order.
func (g *group) alone(k *keyed, above []string) {
	isKey := language.And(list.Map(g.key, func(c *column) string { return c.operand() + " = " + literal(g.value(c, k.index)) })...)
	e := g.endpoint(language.And(g.fits(), isKey))
	first := k.records[0]
	if slices.ContainsFunc(k.records, func(r *record) bool {
		return r.result != first.result || r.body != first.body || r.headers != first.headers
	}) {
		list := syntax.NewList()
		for _, r := range k.records {
			list.Append(g.outcome(&outcome{r.result, []*record{r}}, nil, true))
		}
		e.Set("select", draft.Of("sequence")).Set("responses", list)
	} else {
		g.response(e, &outcome{first.result, k.records}, nil)
	}
	g.draft.Add("endpoint", e, above...)
}

// endpoint returns an endpoint of the group with a condition.
func (g *group) endpoint(condition string) *syntax.Node {
	e := syntax.NewMap()
	if g.method != "GET" {
		e.Set("method", draft.Of(g.method))
	}
	e.Set("path", draft.Of(g.pattern.text))
	return e.SetText("host", g.host).SetText("if", condition)
}

// fits returns the condition that path parameters which are not looked up have the form that was
// inferred for them.
func (g *group) fits() string {
	var parts []string
	for _, s := range g.pattern.segments {
		known := slices.ContainsFunc(g.key, func(c *column) bool { return c.from == 'p' && c.name == s.name })
		if s.param && s.class.kind == "id" && !known { // the path itself expresses the other classes
			parts = append(parts, fmt.Sprintf(`path-params.%s matches "^[0-9A-Za-z_-]{%d}$"`, s.name, s.class.size))
		}
	}
	return language.And(parts...)
}

// above returns the comment above the first endpoint of the group.
func (g *group) above() []string {
	above := []string{g.name + ": " + span(g.records)}
	if len(g.key) > 0 {
		above = append(above, "answers by "+language.And(list.Map(g.key, (*column).operand)...))
	}
	return above
}

// write writes an endpoint for each part: the usual answers, and how often other answers were sent
// instead.
func (g *group) write(parts []*part, above []string) {
	var set *rowSet
	if len(parts) > 1 || slices.ContainsFunc(parts, g.differ) { // other keys have answers of another part, or other bodies
		set = g.rows(parts)
	}
	for _, p := range parts {
		condition := g.fits()
		if set != nil {
			found := "answer != null"
			if len(parts) > 1 {
				found = "answer.part = " + p.name()
			}
			if len(g.key) == 0 {
				found = ""
			}
			condition = language.And(condition, found)
		}
		e := g.endpoint(condition)
		if set != nil {
			e.Set("find", draft.NewMap("answer", draft.Flow(set.find())))
		}
		g.outcomes(e, p, set)
		g.draft.Add("endpoint", e, above...)
		above = nil
	}
}

// outcomes sets the responses of a part, the most frequent first.
func (g *group) outcomes(e *syntax.Node, p *part, set *rowSet) {
	all, total := p.outcomes(), 0
	rowsOf := func(o *outcome) *rowSet {
		if set != nil && o.result == p.id && g.differ(p) {
			return set
		}
		return nil
	}
	if len(all) == 1 {
		g.response(e, all[0], rowsOf(all[0]))
		return
	}
	list := syntax.NewList()
	for _, o := range all {
		total += len(o.records)
		one := draft.NewMap("weight", len(o.records))
		one.Entries = append(one.Entries, g.outcome(o, rowsOf(o), false).Entries...)
		list.Append(one)
	}
	e.Set("responses", draft.Comment(list, wording.Thousands(total)+" requests"))
}

// response sets the only response of an endpoint.
func (g *group) response(e *syntax.Node, o *outcome, set *rowSet) {
	e.Set("response", g.reply(o, set))
	g.setLatency(e, o.records)
	if o.cut {
		e.Set("fault", draft.Flow(draft.NewMap("type", "truncate")))
	}
}

// outcome returns one of several responses.
func (g *group) outcome(o *outcome, set *rowSet, ordered bool) *syntax.Node {
	m := g.reply(o, set)
	if o.cut {
		m.Set("fault", draft.Flow(draft.NewMap("type", "truncate")))
	}
	if !ordered && set == nil && slices.ContainsFunc(o.records, func(r *record) bool { return r.body != o.records[0].body && !r.lost }) {
		g.fault("all answers with status %d get the same body", o.status)
	}
	g.setLatency(m, o.records)
	return m
}

// setLatency sets the latency of m to the distribution measured in the records, if they have times.
func (g *group) setLatency(m *syntax.Node, records []*record) {
	if records[0].stream { // it has a pace
		return
	}
	var lengths []time.Duration
	for _, r := range records {
		took := r.first
		if g.opts.Last {
			took = r.last
		}
		if r.timed {
			lengths = append(lengths, max(0, time.Duration(took)*time.Microsecond-g.opts.Subtract))
		}
	}
	if len(lengths) == 0 {
		return
	}
	if len(lengths) < knownBelow {
		g.few++
	}
	c := samples.Of(lengths)
	latency := draft.Flow(Latency(c))
	if len(lengths) > 1 {
		draft.Comment(latency, wording.Count(len(lengths), "sample"))
	}
	m.Set("latency", latency)
}

// Latency returns a curve in the form in which it is declared.
func Latency(c samples.Curve) *syntax.Node {
	m := draft.NewMap("min", samples.Text(c.Min))
	if c.Min == c.Max {
		return m
	}
	for _, p := range c.Points {
		m.Set(p.Key(), draft.Of(samples.Text(p.Length)))
	}
	return m.Set("max", draft.Of(samples.Text(c.Max)))
}

// report adds the group to the report.
func (g *group) report() {
	name := g.name
	if g.host != "" {
		name += " of " + g.host
	}
	if g.pattern.inferred {
		var found []string
		for _, s := range g.pattern.segments {
			if s.param {
				found = append(found, ":"+s.name+" is "+s.class.String())
			}
		}
		g.draft.Note(g.pos(g.records[0]), name, "inferred: %s; --path says otherwise", strings.Join(found, ", "))
	}
	g.draft.Report(g.pos(g.records[0]), name, g.faults...)
}
