package data

import (
	"maps"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// relation is a set whose rows refer to rows of another one, seen from either of them.
type relation struct {
	name   string // of the list or row that is added to a row
	set    *set   // the other set
	part   *renderer.Operand
	way    []string      // the path to the member that refers
	member *state.Member // that member, if the rows of the other set have it; nil otherwise
}

// compileRelations compiles the sets whose rows refer to those of a resource and, for its dialect, the sets to whose
// rows its own refer, which are those whose resources name its set among their children.
func (o *Operation) compileRelations(scope *renderer.Scope) (problems syntax.Problems) {
	add := func(name string, at syntax.Text, member string, refers bool) {
		if slices.ContainsFunc(o.relations, func(known relation) bool { return known.name == name }) {
			return
		}
		one := relation{name: name, set: into[*set](&problems)(o.sets.find(at)), way: strings.Split(member, ".")}
		if one.set == nil {
			return
		}
		if at.Value = member; refers {
			one.member = into[*state.Member](&problems)(one.set.ordered(at))
		}
		one.part = into[*renderer.Operand](&problems)(one.set.isolation(scope))
		o.relations = append(o.relations, one)
	}
	text := func(of *item.Setting) syntax.Text {
		return syntax.Text{Value: of.Name, Pos: o.config.Pos, Key: o.config.Key + ".children." + wording.Label(of.Name)}
	}
	for i := range o.config.Children {
		of := &o.config.Children[i]
		add(of.Name, text(of), of.Value.Text.Value, true)
	}
	for _, parent := range o.sets.referred[o.config.Set] {
		for i := range parent.Children {
			of := &parent.Children[i]
			name, ok := strings.CutSuffix(of.Value.Text.Value, "Id")
			if ok && of.Name == o.config.Set && o.config.Dialect != "" {
				at := text(of)
				at.Value = parent.Set
				add(name, at, of.Value.Text.Value, false)
			}
		}
	}
	return problems
}

// referredBy returns the resources whose rows are referred to from each set, by its name.
func referredBy(resources map[string][]*item.Resource) map[string][]*item.Resource {
	all := map[string][]*item.Resource{}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		for _, r := range resources[name] {
			for i := range r.Children {
				all[r.Children[i].Name] = append(all[r.Children[i].Name], r)
			}
		}
	}
	return all
}

// removeChildren removes the rows that refer to a row.
func (o *Operation) removeChildren(key []byte, w *work, r *matcher.Request) *Failed {
	for i := range o.relations {
		c := &o.relations[i]
		if c.member == nil {
			continue
		}
		l, part, failed := c.rows(appendOrderedParam(nil, key), w, r)
		if failed != nil {
			return failed
		}
		for _, row := range l.Page(0, l.Len()) {
			w.tx.Delete(c.set.Set, part, row.Key)
		}
	}
	return nil
}

// rows returns the rows whose member has a value.
func (c *relation) rows(value []byte, w *work, r *matcher.Request) (state.List, []byte, *Failed) {
	part := partOf(c.part, w, r)
	l, n, ok := w.tx.Find(c.set.Set, part, []state.Condition{state.Equals(c.member, value)}, nil)
	if !ok {
		return l, part, refuse(reply.TooManyRows, "%d rows of the set %q would have to be looked at", n, c.set.declared.Name)
	}
	return l, part, nil
}

// joins are the relations by which rows are extended for one request.
type joins struct {
	all  []*relation
	room int // how many rows may still be added
}

// joins reads _embed and _expand, the latter of which version 1.0 of json-server calls _embed too.
func (o *Operation) joins(r *matcher.Request) (*joins, *Failed) {
	if o.config.Dialect == "" || len(r.QueryString()) == 0 {
		return nil, nil
	}
	var args fasthttp.Args
	args.ParseBytes(r.QueryString())
	j := &joins{room: item.WholeList}
	for _, param := range []string{"_embed", "_expand"} {
		for _, value := range args.PeekMulti(param) {
			at := slices.IndexFunc(o.relations, func(c relation) bool { return c.name == string(value) })
			if at < 0 {
				names := list.Map(o.relations, func(c relation) string { return c.name })
				return nil, refuse(reply.UnknownParameter, "%s is %q; expected %s", param, wording.Clip(string(value)), wording.OneOf(names))
			}
			j.all = append(j.all, &o.relations[at])
		}
	}
	return j, nil
}

// extend returns a row with the rows that refer to it, and those to which it refers.
func (j *joins) extend(row []byte, key []string, w *work, r *matcher.Request) ([]byte, *Failed) {
	if j == nil {
		return row, nil
	}
	for _, c := range j.all {
		var value []byte
		if c.member == nil {
			text := edit.Member(row, c.way)
			other, _ := c.set.get(&w.tx, partOf(c.part, w, r), w.keep(text.AppendText(nil)))
			value, j.room = other.JSON, j.room-1
		} else {
			id := edit.Member(row, key)
			l, _, failed := c.rows(renderer.AppendOrdered(nil, id), w, r)
			if failed != nil {
				return nil, failed
			}
			if j.room -= 1 + l.Len(); j.room >= 0 {
				value = c.list(l.Page(0, l.Len()), id.Kind)
			}
		}
		if j.room < 0 {
			return nil, refuse(reply.TooManyRows, "more than %d rows would be added; ask for fewer by _page and _limit", item.WholeList)
		}
		if value != nil {
			row = edit.AppendWith(nil, json.Value{Kind: json.Object, Raw: row}, []string{c.name}, value)
		}
	}
	return row, nil
}

// list returns the rows whose member has a kind, as a list: json-server does not take "1" for 1.
func (c *relation) list(rows []state.Row, kind json.Kind) []byte {
	return listOf(slices.DeleteFunc(rows, func(row state.Row) bool { return edit.Member(row.JSON, c.way).Kind != kind }))
}

// listOf returns rows as a list.
func listOf(rows []state.Row) []byte {
	all := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, row.JSON...)
	}
	return append(all, ']')
}
