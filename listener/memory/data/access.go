package data

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/state"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Access finds the rows that an endpoint names. It is compiled and immutable.
type Access struct {
	sets   *Sets
	finds  []find
	states []inState
	names  []string // names of all rows: those found, those of states, and those named by changes
}

// find is the definition of one row to be found.
type find struct {
	set   *set
	part  *renderer.Operand // nil for the common part
	key   *renderer.Operand // nil if the row is not found by its key
	where []equal
	pick  pick
	hash  *renderer.Operand
	turns *state.Turns // of pickNext

	places *state.Member // the order of places; see byHash
}

// equal is a member that must equal an operand.
type equal struct {
	member *state.Member
	to     *renderer.Operand
}

// pick is the way in which one of several rows is chosen.
type pick uint8

const (
	pickFirst pick = iota
	pickNewest
	pickNext
	pickOnce
	pickRandom
	pickHash
	pickAll
)

var picks = map[string]pick{"": pickFirst, "first": pickFirst, "newest": pickNewest, "next": pickNext, "once": pickOnce, "random": pickRandom, "all": pickAll}

// Compile compiles the rows that an endpoint finds, and adds their names to the scope; Names also
// adds the names from its changes. It returns nil for an endpoint that uses no rows.
func (s *Sets) Compile(e *item.Endpoint, scope *renderer.Scope) (*Access, syntax.Problems) {
	all := doOf(e)
	if len(e.Find)+len(e.State) == 0 && !slices.ContainsFunc(all, func(do []item.Do) bool { return len(do) > 0 }) {
		return nil, nil
	}
	a := &Access{sets: s}
	var problems syntax.Problems
	later := scope.Later
	for i := range e.Find {
		f := &e.Find[i]
		scope.Later = slices.Clone(later)
		for _, after := range e.Find[i+1:] {
			scope.Later = append(scope.Later, after.Name)
		}
		problems = append(problems, claim(f.Name, a.names, f.Pos, f.Key)...)
		made, wrong := s.compileFind(f, scope) // later entries may use earlier ones
		if made.pick == pickNext && made.set != nil {
			made.turns = s.turnsOf(made.set.declared.Name, strings.Join([]string{e.EffectiveMethod(), e.Host, e.Path.Value, e.If.Value}, " "), f.Name)
		}
		problems = append(problems, wrong...)
		a.finds = append(a.finds, made)
		a.names = append(a.names, f.Name)
		scope.Rows = a.names
	}
	scope.Later = later
	problems = append(problems, a.compileStates(e, scope)...)
	for _, do := range all {
		for i := range do {
			if name := do[i].As; name != "" && a.index(name) < 0 {
				problems = append(problems, claim(name, a.names, do[i].Pos, do[i].Key+".as")...)
				a.names = append(a.names, name)
			}
		}
	}
	return a, problems
}

// Names adds all names of rows to the scope, including those from changes.
func (a *Access) Names(scope *renderer.Scope) {
	if a != nil {
		scope.Rows = a.names
	}
}

// claim returns the problem with a name next to those that are taken, if there is one.
func claim(name string, taken []string, pos syntax.Pos, key string) syntax.Problems {
	what := ""
	switch {
	case renderer.IsVariable(name):
		what = fmt.Sprintf("%q is a word of the template language; expected another name", name)
	case slices.Contains(taken, name):
		what = fmt.Sprintf("%q is used twice; expected another name", name)
	default:
		return nil
	}
	return syntax.Problems{{Pos: pos, Key: key, What: what}}
}

// index returns the position of a name, or -1 if it does not exist.
func (a *Access) index(name string) int { return slices.Index(a.names, name) }

func (s *Sets) compileFind(f *item.Find, scope *renderer.Scope) (find, syntax.Problems) {
	made := find{pick: picks[f.Pick]}
	var problems syntax.Problems
	if made.set, problems = s.find(f.In); made.set == nil {
		return made, problems
	}
	operand := into[*renderer.Operand](&problems)
	made.part = operand(made.set.isolation(scope))
	made.key = operand(renderer.CompileOperand(f.ByKey, scope))
	problems = append(problems, doubtWord(f.ByKey, made.key, made.set)...)
	if f.Hash.Value != "" {
		made.pick = pickHash
		made.hash = operand(renderer.CompileOperand(f.Hash, scope))
		problems = append(problems, doubtWord(f.Hash, made.hash, nil)...)
		made.places = memberOf(made.set.members, placesName(groupOf(f)))
	}
	for i := range f.Where {
		w := &f.Where[i]
		m, wrong := made.set.ordered(syntax.Text{Value: w.Name, Pos: w.Value.Pos, Key: w.Value.Key})
		problems = append(problems, wrong...)
		made.where = append(made.where, equal{m, operand(renderer.CompileOperand(w.Value, scope))})
	}
	return made, problems
}

// Finds reports whether any row is looked up while the endpoint is matched.
func (a *Access) Finds() bool { return a != nil && len(a.finds)+len(a.states) > 0 }

// ErrTooManyRows stops a request whose row can only be found by looking at too many other rows.
var ErrTooManyRows = fmt.Errorf("finding the row would mean looking at more than %d others one by one; search for a value that fewer rows have", state.MaxSifted)

// Find begins the work of a request with rows, and finds the rows that the endpoint names. It
// reports whether the scenarios are in states in which the endpoint answers. If finding a row would
// take too long, it stops the request with ErrTooManyRows, and the endpoint answers regardless of
// its condition.
func (a *Access) Find(r *matcher.Request) bool {
	w := workOf(r)
	const attempts = 10 // to see several sets as they were at one time
	matches, alone := false, w.owner == nil
	for i := range attempts {
		if i > 0 {
			w.owner, w.stale = nil, !alone // the endpoints before this one were judged by earlier rows
		}
		a.begin(w, r)
		if !a.findRows(w, r) {
			r.Stopped = ErrTooManyRows
			return true
		}
		matches = true
		if slices.ContainsFunc(a.states, func(s inState) bool { return s.begin(a.sets, w, r) }) {
			continue
		}
		for i := range a.states {
			matches = a.states[i].see(w, r) && matches
		}
		if w.tx.Commit() == nil { // nothing is written yet
			break
		}
	}
	return matches
}

// findRows finds the rows; it reports false if that would take too long.
func (a *Access) findRows(w *work, r *matcher.Request) bool {
	for i := range a.finds {
		f := &a.finds[i]
		kind := json.Object
		var row state.Row
		ok := true
		if f.pick == pickAll && f.key == nil {
			kind = json.Array
			row.JSON, ok = f.list(w, r)
		} else {
			row, ok = f.find(w, r)
		}
		switch {
		case !ok:
			f.set.counters.failed(opFind, reply.TooManyRows)
			return false
		case row.Found():
			r.Rows[i] = json.Value{Kind: kind, Raw: row.JSON}
			f.set.counters.note(opFind, resultOK)
		default:
			f.set.counters.note(opFind, resultMissing)
		}
	}
	return true
}

// begin starts the work of a request for an endpoint. If the endpoints that were tried before have
// read rows, begin continues their transaction, because those rows decided that these endpoints do
// not answer.
func (a *Access) begin(w *work, r *matcher.Request) {
	if w.owner == nil {
		w.tx.Begin(a.sets.store)
		w.room, w.equal = w.room[:0], w.equal[:0]
	}
	w.owner, w.taken = a, w.taken[:0]
	n := len(a.names)
	if missing := n - len(r.Rows); missing > 0 {
		r.Rows = append(r.Rows, make([]json.Value, missing)...)
	}
	clear(r.Rows[:n]) // they are followed by the values that the endpoint has made
}

// find returns the row, which may not exist. ok is false if finding it would take too long.
func (f *find) find(w *work, r *matcher.Request) (row state.Row, ok bool) {
	part := partOf(f.part, w, r)
	if f.key != nil {
		key, ok := f.key.Text(r)
		if !ok {
			return state.Row{}, true
		}
		row, _ = f.set.get(&w.tx, part, w.keep(key))
		return row, true
	}
	from := len(w.room)
	all := f.values(w, r)
	value := w.room[from:]
	switch f.pick {
	case pickFirst, pickNewest:
		return w.tx.First(f.set.Set, part, all, f.pick == pickNewest)
	case pickOnce:
		if row, ok = w.tx.Once(f.set.Set, part, all, w.takenFrom(f.set, part)); row.Found() {
			w.taken = append(w.taken, taken{f.set, part, row})
		}
		return row, ok
	case pickHash:
		row = f.byHash(all, part, w, r)
	default:
		rows, _, ok := w.tx.Find(f.set.Set, part, all, nil)
		if !ok {
			return state.Row{}, false
		}
		if n := rows.Len(); n > 0 && f.pick == pickRandom {
			row = rows.At(r.Random.IntN(n))
		} else if n > 0 {
			row = f.turns.Next(&rows, value, part)
		}
		if row.Found() {
			w.tx.Saw(f.set.Set, part, row)
		}
	}
	if !row.Found() {
		return w.tx.First(f.set.Set, part, all, false) // the transaction depends on the absence
	}
	return row, true
}

// list returns all rows as a list. ok is false if there are too many.
func (f *find) list(w *work, r *matcher.Request) (all []byte, ok bool) {
	rows, _, ok := w.tx.Find(f.set.Set, partOf(f.part, w, r), f.values(w, r), nil)
	if !ok || rows.Len() > item.MaxList {
		return nil, false
	}
	return listOf(rows.Page(0, rows.Len())), true
}

// values returns the values that the row must have. It appends them to w.room.
func (f *find) values(w *work, r *matcher.Request) []state.Condition {
	first := len(w.equal)
	for i := range f.where {
		value := w.hold(f.where[i].to.AppendOrdered(w.room, r))
		w.equal = append(w.equal, state.Equals(f.where[i].member, value))
	}
	return w.equal[first:len(w.equal):len(w.equal)]
}

// compileStates compiles the states of an endpoint.
func (a *Access) compileStates(e *item.Endpoint, scope *renderer.Scope) (problems syntax.Problems) {
	for i := range e.State {
		d := &e.State[i]
		of := a.sets.scenarios[d.Name.Value]
		if of == nil {
			problems = append(problems, unknown("scenario", d.Name, a.sets.scenarios, "no scenario is declared")...)
			continue
		}
		problems = append(problems, claim(d.Name.Value, a.names, d.Name.Pos, d.Name.Key)...)
		made, wrong := renderer.CompileOperand(d.ByKey, scope)
		wrong = append(wrong, doubtWord(d.ByKey, made, of.set)...)
		if d.ByKey.Value == "" {
			made, wrong = renderer.CompileOperand(of.declared.Per, scope)
			for j := range wrong { // the endpoint lacks what the scenario expects
				wrong[j].Pos, wrong[j].Key = d.Name.Pos, d.Name.Key
				wrong[j].What = fmt.Sprintf("per of the scenario %q is %s, but %s", d.Name.Value, wording.Clip(of.declared.Per.Value), wrong[j].What)
			}
		}
		problems = append(problems, wrong...)
		a.states = append(a.states, inState{of, made, d.Is, d.Next, len(a.names)})
		a.names = append(a.names, d.Name.Value)
		scope.Rows = a.names
	}
	return problems
}

// leads reports whether an endpoint leads a scenario to another state.
func (a *Access) leads() bool {
	return slices.ContainsFunc(a.states, func(s inState) bool { return s.next != "" })
}

// takes reports whether the endpoint hands out rows at most once.
func (a *Access) takes() bool {
	return slices.ContainsFunc(a.finds, func(f find) bool { return f.pick == pickOnce })
}
