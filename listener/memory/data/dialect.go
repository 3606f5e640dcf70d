package data

import (
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// jsonServerReplacements are the parameters of json-server that are refused, and what replaces them.
var jsonServerReplacements = map[string]string{
	"q":         "name the member to search, such as ?title=x",
	"_embed":    "request the list below the row, such as /posts/1/comments",
	"_expand":   "request the row of the other list by its id",
	"_per_page": "expected _limit",
	"like":      "expected the whole value, such as ?title=x",
}

// jsonServerPage is how many rows a page has that is requested by _page alone.
const jsonServerPage = 10

// jsonServer reads a parameter of json-server, and reports whether it is one that only json-server has.
func (d *demands) jsonServer(o *Operation, key string, value []byte) bool {
	switch key {
	case "_sort":
		d.sortJSONServer(o, string(value))
		return true
	case "_order", "_start", "_end": // read with other parameters
		return true
	}
	at := max(strings.LastIndexByte(key, '_'), strings.LastIndexByte(key, ':'))
	if memberOf(o.filters, key) != nil || at < 1 {
		return false
	}
	m := memberOf(o.filters, key[:at]) // of a_gte in version 0.17, a:gte in 1.0
	return m != nil && d.ask(m, key[at+1:], value, len(o.parents))
}

// refuseJSONServer refuses the parameters of json-server that have no equivalent.
func (o *Operation) refuseJSONServer(r *matcher.Request) *Failed {
	if o.config.Dialect == "" || len(r.QueryString()) == 0 {
		return nil
	}
	for pair := range strings.SplitSeq(string(r.QueryString()), "&") {
		name, _, _ := strings.Cut(pair, "=")
		what := jsonServerReplacements[name]
		if member, found := strings.CutSuffix(name, "_like"); found && memberOf(o.filters, member) != nil {
			what = jsonServerReplacements["like"]
		}
		if what != "" && memberOf(o.filters, name) == nil {
			return refuse(reply.UnknownParameter, "%q of json-server is not supported; %s", wording.Clip(name), what)
		}
	}
	return nil
}

// sortJSONServer reads _sort: "a,b" with _order=desc,asc in version 0.17, "-a,b" in 1.0.
func (d *demands) sortJSONServer(o *Operation, text string) {
	orders := strings.Split(string(d.args.Peek("_order")), ",")
	for i, part := range strings.Split(text, ",") {
		name, down := strings.CutPrefix(part, "-")
		if m := memberOf(o.sorts, name); m != nil {
			d.by = append(d.by, state.Sorting{Member: m, Down: down || i < len(orders) && strings.EqualFold(orders[i], "desc")})
		}
	}
}

// isSlice reports whether a list is requested by _start or _end, and not by _page, which json-server prefers.
func (o *Operation) isSlice(d *demands) bool {
	return o.config.Dialect != "" && !d.args.Has("_page") &&
		(d.args.Has("_end") || d.args.Has("_start") && d.args.Has("_limit"))
}

// pageSize returns how many rows a page has unless the request says so.
func (o *Operation) pageSize(d *demands) int {
	if o.config.Dialect != "" && d.args.Has("_page") {
		return min(o.size, jsonServerPage)
	}
	return o.size
}

// sliced returns the part of a list that _start with _end or _limit asks for.
func (o *Operation) sliced(l *state.List, d *demands, p *page) (*page, *Failed) {
	var failed *Failed
	if p.offset, failed = o.number(d, "start", 0, 0); failed != nil {
		return nil, failed
	}
	end, failed := o.number(d, "end", p.offset+p.size, 0)
	if failed != nil {
		return nil, failed
	}
	p.size = min(max(end-p.offset, 0), o.most)
	p.rows = l.Page(min(p.offset, l.Len()), p.size)
	return p, nil
}

// child is a set whose rows are removed with the row that a member of them refers to.
type child struct {
	set    *set
	part   *renderer.Operand
	member *state.Member
}

// compileChildren compiles the sets whose rows are removed with a row.
func (o *Operation) compileChildren(scope *renderer.Scope) (problems syntax.Problems) {
	for _, of := range o.config.Children {
		at := syntax.Text{Value: of.Name, Pos: o.config.Pos, Key: o.config.Key + ".children." + wording.Label(of.Name)}
		one := child{set: into[*set](&problems)(o.sets.find(at))}
		if one.set != nil {
			at.Value = of.Value.Text.Value
			one.member = into[*state.Member](&problems)(one.set.ordered(at))
			one.part = into[*renderer.Operand](&problems)(one.set.isolation(scope))
			o.children = append(o.children, one)
		}
	}
	return problems
}

// removeChildren removes the rows that refer to a row.
func (o *Operation) removeChildren(key []byte, w *work, r *matcher.Request) *Failed {
	for _, c := range o.children {
		part := partOf(c.part, w, r)
		l, n, ok := w.tx.Find(c.set.Set, part, []state.Condition{state.Equals(c.member, appendOrderedParam(nil, key))}, nil)
		if !ok {
			return refuse(reply.TooManyRows, "%d rows of the set %q would have to be looked at", n, c.set.declared.Name)
		}
		for _, row := range l.Page(0, l.Len()) {
			w.tx.Delete(c.set.Set, part, row.Key)
		}
	}
	return nil
}
