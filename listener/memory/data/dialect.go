package data

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/renderer"
)

// jsonServerPage is how many rows a page has that is requested by _page alone.
const jsonServerPage = 10

// jsonServer reads a parameter of json-server, and reports whether it is one that only json-server has.
func (d *demands) jsonServer(o *Operation, key string, value []byte) (bool, *Failed) {
	switch key {
	case "_sort":
		d.sortJSONServer(o, string(value))
		return true, nil
	case "q":
		if text := bytes.ToLower(d.args.Peek(key)); len(text) > 0 {
			d.where = append(d.where, state.Condition{Test: func(row []byte) bool { return edit.HasText(json.Parse(row), text) }})
		}
		return true, nil
	case "_where":
		return true, refuse(reply.UnknownParameter, "%q of json-server is not supported; expected one parameter for each condition, such as ?views:gte=1", key)
	case "_order", "_start", "_end", "_embed", "_expand", "_per_page", "_", "callback": // read with other parameters, or no members
		return true, nil
	}
	at := max(strings.LastIndexByte(key, '_'), strings.LastIndexByte(key, ':'))
	op := key[at+1:] // of a_gte in version 0.17, a:gte in 1.0
	isPattern := slices.Contains(edit.Searches, op)
	if memberOf(o.filters, key) != nil || at < 1 || !isPattern && !slices.Contains([]string{"gte", "lte", "ne", "gt", "lt", "in", "eq"}, op) {
		return false, nil
	}
	m := memberOf(o.filters, key[:at])
	if m == nil && o.config.Strict {
		return false, nil
	}
	m = cmp.Or(m, newMember(key[:at]))
	switch {
	case isPattern:
		test, err := edit.Search(strings.Split(m.Name, "."), op, d.args.PeekMulti(key)) // one of several
		if err != nil {
			return true, refuse(reply.UnknownParameter, "%s %v", wording.Clip(key), err)
		}
		d.where = append(d.where, state.Condition{Test: test})
		return true, nil
	case op == "ne": // a row without the member is not unequal
		d.where = append(d.where, state.Condition{Member: m, From: state.Bound{Value: renderer.AppendOrdered(nil, json.Value{}), Not: true}})
	}
	return d.ask(m, op, value, len(o.parents)), nil
}

// sortJSONServer reads _sort: "a,b" with _order=desc,asc in version 0.17, "-a,b" in 1.0.
func (d *demands) sortJSONServer(o *Operation, text string) {
	orders := strings.Split(string(d.args.Peek("_order")), ",")
	for i, part := range strings.Split(text, ",") {
		name, down := strings.CutPrefix(part, "-")
		if name != "" {
			d.by = append(d.by, state.Sorting{Member: cmp.Or(memberOf(o.sorts, name), newMember(name)), Down: down || i < len(orders) && strings.EqualFold(orders[i], "desc")})
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
