package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/scalar"
)

// Changes holds the compiled changes of a response. It is immutable.
type Changes struct {
	access *Access
	all    []change
}

// change is one compiled change.
type change struct {
	do *item.Do
	operation
	set     *set
	part    *renderer.Operand
	key     *renderer.Operand
	row     *renderer.Operand // the row to insert, or the value of with for put and merge
	members []setting
	field   []string
	by      *renderer.Operand
	least   *renderer.Operand
	most    *renderer.Operand
	as      int // the index of the row's name; -1 for none
}

// CompileChanges compiles the changes of a response. It returns nil if there are none, the endpoint
// takes no row, and leads no scenario to another state. The scope is that of the endpoint after Compile.
func (a *Access) CompileChanges(all []item.Do, scope *renderer.Scope) (*Changes, syntax.Problems) {
	if len(all) == 0 && !a.leads() && !a.takes() {
		return nil, nil
	}
	c := &Changes{access: a}
	var problems syntax.Problems
	for i := range all {
		made, wrong := a.compile(&all[i], scope)
		problems = append(problems, wrong...)
		c.all = append(c.all, made)
	}
	return c, problems
}

func (a *Access) compile(o *item.Do, scope *renderer.Scope) (change, syntax.Problems) {
	c := change{do: o, operation: operationOf[o.Verb], as: -1}
	var problems syntax.Problems
	if c.set, problems = a.sets.find(o.In); c.set == nil {
		return c, problems
	}
	if o.As != "" {
		c.as = a.index(o.As)
	}
	add := into[*renderer.Operand](&problems)
	operand := func(text syntax.Text) *renderer.Operand { return add(renderer.CompileOperand(text, scope)) }
	value := func(m item.Made) *renderer.Operand {
		if m.Text.Value == "" {
			return nil
		}
		return add(renderer.CompileMade(m.Text, m.JSON, scope))
	}
	c.part = add(c.set.isolation(scope))
	c.key, c.by, c.least, c.most = operand(o.ByKey), operand(o.By), operand(o.AtLeast), operand(o.AtMost)
	problems = append(problems, doubtWord(o.ByKey, c.key, c.set)...)
	made, key := o.Row, "row"
	if o.Verb != "insert" {
		made, key = o.With, "with"
	}
	made, wrong := objectOf(made, o.Key+"."+key)
	problems = append(problems, wrong...)
	c.row = value(made)
	for i := range o.Set {
		c.members = append(c.members, setting{[]string{o.Set[i].Name}, value(o.Set[i].Value)})
	}
	c.field = strings.Split(o.Field.Value, ".")
	return c, problems
}

// objectOf returns m as a value that must be an object: a map, one placeholder, or a JSON text.
func objectOf(m item.Made, key string) (item.Made, syntax.Problems) {
	text := strings.TrimSpace(m.Text.Value)
	if m.JSON || text == "" || renderer.IsPlaceholder(text) {
		return m, nil
	}
	m.JSON = true
	if text[0] == '{' && !strings.HasPrefix(text, "{{") {
		return m, nil
	}
	return item.Made{}, syntax.Problems{{Pos: m.Text.Pos, Key: key, What: fmt.Sprintf("is a text (%s); expected a map, a JSON object, or one placeholder", strconv.Quote(wording.Clip(text)))}}
}

// Apply makes the changes for a request. It returns nil if they were made; otherwise nothing has
// changed. For a HEAD request, it returns what it would for another one, and changes nothing.
func (c *Changes) Apply(r *matcher.Request) *Failed {
	w := workOf(r)
	if w.owner != c.access {
		c.access.begin(w, r)
	}
	w.keys = w.keys[:0]
	failed := c.apply(w, r)
	w.owner, w.stale = nil, false
	if failed != nil {
		w.giveBack()
	}
	return failed
}

func (c *Changes) apply(w *work, r *matcher.Request) *Failed {
	if w.stale {
		return ofCommit(state.ErrConflict)
	}
	if r.Stopped == ErrTooManyRows {
		return refuse(reply.TooManyRows, "%v", ErrTooManyRows)
	}
	for i := range c.all {
		if failed := c.all[i].apply(w, r, i); failed != nil {
			c.all[i].set.counters.failed(c.all[i].operation, failed.Failure)
			return failed
		}
	}
	for i := range c.access.states {
		if s := &c.access.states[i]; s.next != "" {
			s.lead(w, r)
		}
	}
	if r.Stopped != nil {
		return refuse(reply.ResponseTooLarge, "%v", r.Stopped)
	}
	if string(r.Method()) == "HEAD" {
		w.giveBack()
		return nil
	}
	for _, t := range w.taken {
		w.tx.Take(t.set.Set, t.part, t.row)
	}
	failed := ofCommit(w.tx.Commit())
	for i := range c.all {
		if one := &c.all[i]; failed == nil {
			one.set.counters.note(one.operation, resultOK)
		} else if !failed.Conflict {
			one.set.counters.failed(one.operation, failed.Failure)
		}
	}
	return failed
}

// fail returns the failure of a change that cannot be made.
func (c *change) fail(i int, f reply.Failure, format string, args ...any) *Failed {
	if c.do.Else != nil {
		return &Failed{Else: i, Failure: f}
	}
	return refuse(f, format, args...)
}

func (c *change) apply(w *work, r *matcher.Request, i int) *Failed {
	part := partOf(c.part, w, r)
	if c.do.Verb == "insert" {
		return c.insert(part, w, r, i)
	}
	text, ok := c.key.Text(r)
	if !ok || len(text) == 0 || len(text) > maxKey {
		return c.fail(i, reply.RowNotFound, "no row of the set %q has that key", c.set.declared.Name)
	}
	old, key := c.set.get(&w.tx, part, w.keep(text))
	if !old.Found() && c.do.Verb != "put" {
		return c.fail(i, reply.RowNotFound, "the set %q has no row %q", c.set.declared.Name, wording.Clip(string(key)))
	}
	row := json.Value{Kind: json.Object, Raw: old.JSON}
	switch c.do.Verb {
	case "delete":
		w.tx.Delete(c.set.Set, part, key)
		c.name(r, row)
		return nil
	case "add":
		return c.add(part, key, old, w, r, i)
	}
	patch, failed := c.object(w, r)
	if failed != nil {
		return failed
	}
	made := patch.Raw
	if c.do.Verb == "merge" {
		made = w.hold(edit.AppendMerged(w.room, row, patch))
	}
	made = c.withMembers(made, w, r)
	if c.do.Verb == "put" || c.changes(patch, c.set.key[0]) {
		if now, what := w.keyOf(edit.Member(made, c.set.key), c.set.key); what != "" || string(now) != string(key) {
			made = w.with(made, c.set.key, c.set.keyJSON(c.set.made, row, key))
		}
	}
	c.put(part, key, old, made, w, r)
	if c.do.Verb == "merge" {
		w.tx.Keep(func(root string) bool { return c.changes(patch, root) })
	}
	return nil
}

// changes reports whether a merge of a patch changes a member of the row.
func (c *change) changes(patch json.Value, member string) bool {
	return patch.Member(member).Kind != json.Missing ||
		slices.ContainsFunc(c.members, func(set setting) bool { return set.way[0] == member })
}

// object returns the object that is inserted, put or merged.
func (c *change) object(w *work, r *matcher.Request) (json.Value, *Failed) {
	if c.row == nil {
		return json.Value{Kind: json.Object, Raw: []byte("{}")}, nil
	}
	v, ok := c.row.Object(r)
	if !ok {
		text := w.hold(c.row.AppendJSON(w.room, r))
		if v = json.Parse(text); v.Kind != json.Object {
			return v, refuse(reply.BadJSON, "the row is %q; expected a JSON object", wording.Clip(string(text)))
		}
	}
	v.Raw = w.hold(json.AppendCompact(w.room, v.Raw))
	return v, nil
}

// withMembers returns a row with the members that are set.
func (c *change) withMembers(row []byte, w *work, r *matcher.Request) []byte {
	for i := range c.members {
		m := &c.members[i]
		row = w.with(row, m.way, w.hold(m.value.AppendJSON(w.room, r)))
	}
	return row
}

func (c *change) insert(part []byte, w *work, r *matcher.Request, i int) *Failed {
	v, failed := c.object(w, r)
	if failed != nil {
		return failed
	}
	row, key, what := w.keyed(c.withMembers(v.Raw, w, r), c.set, c.set.made, part, r)
	if what != "" {
		return refuse(reply.BadJSON, "%s", what)
	}
	if old, _ := c.set.get(&w.tx, part, key); old.Found() {
		return c.fail(i, reply.KeyExists, "the set %q already has a row %q", c.set.declared.Name, wording.Clip(string(key)))
	}
	c.put(part, key, state.Row{}, row, w, r)
	return nil
}

// add adds to a number in a row.
func (c *change) add(part, key []byte, old state.Row, w *work, r *matcher.Request, i int) *Failed {
	row := json.Value{Kind: json.Object, Raw: old.JSON}
	was := edit.Member(row.Raw, c.field)
	digits := []byte("0")
	if was.Kind != json.Missing && was.Kind != json.Null {
		digits = was.AppendText(nil)
	}
	by, ok := c.by.Number(r)
	if !ok || !scalar.IsNumeric(digits) {
		return notANumber("%q of the row %q, or what is added to it, is not a number", c, key)
	}
	sum, ok := scalar.Arithmetic(nil, digits, '+', by)
	if !ok {
		return notANumber("%q of the row %q cannot be added to", c, key)
	}
	if c.outside(sum, r) {
		return c.fail(i, reply.OutOfBounds, "%q of the row %q would be %s", edit.Joined(c.field), wording.Clip(string(key)), sum)
	}
	c.put(part, key, old, w.with(old.JSON, c.field, sum), w, r)
	return nil
}

func notANumber(format string, c *change, key []byte) *Failed {
	return refuse(reply.NotANumber, format, edit.Joined(c.field), wording.Clip(string(key)))
}

// outside reports whether a sum is outside its bounds. If a bound is not a number, every sum is
// outside.
func (c *change) outside(sum []byte, r *matcher.Request) bool {
	for _, bound := range []struct {
		is   *renderer.Operand
		sign int
	}{{c.least, -1}, {c.most, 1}} {
		if bound.is == nil {
			continue
		}
		limit, ok := bound.is.Number(r)
		if !ok || scalar.Compare(sum, limit)*bound.sign > 0 {
			return true
		}
	}
	return false
}

// put writes a row in place of old, and gives the row its declared name.
func (c *change) put(part, key []byte, old state.Row, row []byte, w *work, r *matcher.Request) {
	kept := c.set.put(&w.tx, part, key, old, row, r.Now())
	c.name(r, json.Value{Kind: json.Object, Raw: kept})
}

func (c *change) name(r *matcher.Request, row json.Value) {
	if c.as >= 0 {
		r.Rows[c.as] = row
	}
}
