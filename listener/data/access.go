package data

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/listener/state"
	"mockserver/matcher"
	"mockserver/matcher/json"
	"mockserver/renderer"
)

// Access is the rows that an endpoint names, compiled. It is immutable.
type Access struct {
	sets   *Sets
	finds  []find
	states []inState
	names  []string // of rows: those that are found, of states, and those that changes name
}

// find is one row that is found.
type find struct {
	set   *set
	part  *renderer.Operand // nil for the changes of all
	key   *renderer.Operand // nil if it is not found by its key
	where []equal
	pick  pick
	hash  *renderer.Operand
	turns *turns
}

// equal is a member that has to equal an operand.
type equal struct {
	order int
	to    *renderer.Operand
}

// pick is how one of several rows is chosen.
type pick uint8

const (
	pickFirst pick = iota
	pickNewest
	pickNext
	pickOnce
	pickRandom
	pickHash
)

var picks = map[string]pick{"": pickFirst, "first": pickFirst, "newest": pickNewest, "next": pickNext, "once": pickOnce, "random": pickRandom}

// work is what a request does with rows. It is kept with the memory of the request.
type work struct {
	tx    state.Tx
	used  bool    // since the last Release
	owner *Access // whose rows it has; nil for none
	room  []byte  // for values
	equal []state.Equal
	keys  []madeKey
}

// keptRoom is the largest buffer that is kept for another request, in bytes.
const keptRoom = 64 << 10

// Release ends the work of a request: nothing that it has seen is kept in memory by it.
func (w *work) Release() {
	if !w.used {
		return
	}
	w.tx.End()
	clear(w.equal)
	w.owner, w.used = nil, false
	if cap(w.room) > keptRoom {
		w.room = nil
	}
}

// workOf returns the work of a request.
func workOf(r *matcher.Request) *work {
	w, _ := r.Access.(*work)
	if w == nil {
		w = &work{}
		r.Access = w
	}
	w.used = true
	return w
}

// Compile compiles what an endpoint finds, and adds the names of rows to the scope: those that it
// finds. Those that its changes have are added by Names. It returns nil for an endpoint that uses no rows.
func (s *Sets) Compile(e *config.Endpoint, scope *renderer.Scope) (*Access, syntax.Problems) {
	all := [][]config.Do{e.Do}
	for i := range e.Responses {
		all = append(all, e.Responses[i].Do)
	}
	used := len(e.Find)+len(e.State) > 0
	for _, do := range all {
		used = used || len(do) > 0
	}
	if !used {
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
		problems = append(problems, a.claim(f.Name, f.Pos, f.Key)...)
		made, wrong := s.compileFind(f, scope) // later entries may use earlier ones
		if made.pick == pickNext || made.pick == pickOnce {
			made.turns = s.turnsOf(made.set, strings.Join([]string{e.EffectiveMethod(), e.Host, e.Path.Value, e.If.Value}, " "), f.Name)
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
				problems = append(problems, a.claim(name, do[i].Pos, do[i].Key+".as")...)
				a.names = append(a.names, name)
			}
		}
	}
	return a, problems
}

// Names adds all names of rows to the scope: those that changes have too.
func (a *Access) Names(scope *renderer.Scope) {
	if a != nil {
		scope.Rows = a.names
	}
}

// claim returns what is wrong with the name of a row.
func (a *Access) claim(name string, pos syntax.Pos, key string) syntax.Problems {
	what := ""
	switch {
	case renderer.IsVariable(name):
		what = fmt.Sprintf("%q is a word of the template language; expected another name", name)
	case a.index(name) >= 0:
		what = fmt.Sprintf("%q is named twice; expected another name", name)
	default:
		return nil
	}
	return syntax.Problems{{Pos: pos, Key: key, What: what}}
}

// index returns the position of a name; -1 if there is none.
func (a *Access) index(name string) int {
	for i, n := range a.names {
		if n == name {
			return i
		}
	}
	return -1
}

func (s *Sets) compileFind(f *config.Find, scope *renderer.Scope) (find, syntax.Problems) {
	made := find{pick: picks[f.Pick]}
	var problems, wrong syntax.Problems
	if made.set, problems = s.find(f.In); made.set == nil {
		return made, problems
	}
	made.part, wrong = made.set.isolation(scope)
	problems = append(problems, wrong...)
	made.key, wrong = renderer.CompileOperand(f.ByKey, scope)
	problems = append(problems, wrong...)
	if f.Hash.Value != "" {
		made.pick = pickHash
		made.hash, wrong = renderer.CompileOperand(f.Hash, scope)
		problems = append(problems, wrong...)
	}
	for i := range f.Where {
		w := &f.Where[i]
		order, known := made.set.order(w.Name)
		if !known {
			problems = append(problems, syntax.Problem{Pos: w.Value.Pos, Key: w.Value.Key, What: made.set.notIndexed(w.Name)})
		}
		to, wrong := renderer.CompileOperand(w.Value, scope)
		problems = append(problems, wrong...)
		made.where = append(made.where, equal{order, to})
	}
	return made, problems
}

// isolation compiles what tells the parts of a set apart; nil if there is only one.
func (s *set) isolation(scope *renderer.Scope) (*renderer.Operand, syntax.Problems) {
	return renderer.CompileOperand(s.declared.Isolate, scope)
}

// order returns the index of the order of a member.
func (s *set) order(name string) (int, bool) {
	for i, m := range s.options.Members {
		if m.Name == name {
			return i, true
		}
	}
	return 0, s.print == "" // a broken one has no members
}

func (s *set) notIndexed(name string) string {
	names := make([]string, 0, len(s.options.Members))
	for _, m := range s.options.Members {
		names = append(names, m.Name)
	}
	known := "and it has none"
	if len(names) > 0 {
		known = "which has " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("the set %q has no index of %q%s; expected one of the members under index or sort, %s", s.declared.Name, name,
		wording.DidYouMean(name, names), known)
}

// Finds reports whether any row is found while the endpoint is matched.
func (a *Access) Finds() bool { return a != nil && len(a.finds)+len(a.states) > 0 }

// ErrTooManyRows is why a request is stopped for which a row cannot be found by looking at few others.
var ErrTooManyRows = fmt.Errorf("to find a row, more than %d others would have to be looked at one by one; ask for a value that fewer rows have", state.MaxSifted)

// Find begins what a request does with rows, and finds those that the endpoint names. It reports
// whether the scenarios are in states in which the endpoint answers. If a row cannot be found, the
// request is stopped by ErrTooManyRows, and the endpoint answers whatever its condition.
func (a *Access) Find(r *matcher.Request) bool {
	w := workOf(r)
	const attempts = 10 // to see several sets as of one time
	answers := false
	for range attempts {
		a.begin(w, r)
		if !a.findRows(w, r) {
			r.Stopped = ErrTooManyRows
			return true
		}
		answers = true
		if slices.ContainsFunc(a.states, func(s inState) bool { return s.begin(a.sets, w, r) }) {
			continue
		}
		for i := range a.states {
			answers = a.states[i].see(w, r) && answers
		}
		if w.tx.Commit() == nil { // nothing is written yet
			break
		}
	}
	return answers
}

// findRows finds the rows; it reports false if one would take too long.
func (a *Access) findRows(w *work, r *matcher.Request) bool {
	for i := range a.finds {
		f := &a.finds[i]
		row, ok := f.find(w, r)
		switch {
		case !ok:
			f.set.tally.failed(opFind, reply.TooManyRows)
			return false
		case row.Found():
			r.Rows[i] = json.Value{Kind: json.Object, Raw: row.JSON}
			f.set.tally.note(opFind, resultOK)
		default:
			f.set.tally.note(opFind, resultMissing)
		}
	}
	return true
}

// begin starts anew.
func (a *Access) begin(w *work, r *matcher.Request) {
	w.tx.Begin(a.sets.store)
	w.owner, w.room, w.equal = a, w.room[:0], w.equal[:0]
	n := len(a.names)
	if missing := n - len(r.Rows); missing > 0 {
		r.Rows = append(r.Rows, make([]json.Value, missing)...)
	}
	clear(r.Rows[:n]) // behind them are values that the endpoint has made
}

// made returns what was appended to the room from a place on.
func (w *work) made(from int) []byte { return w.room[from:len(w.room):len(w.room)] }

// with returns a row in which the member at a way has another value, a JSON text. It stays as it is until
// the work begins anew.
func (w *work) with(row []byte, way []string, value []byte) []byte {
	start := len(w.room)
	w.room = appendWith(w.room, json.Value{Kind: json.Object, Raw: row}, way, value)
	return w.made(start)
}

// merged returns a row with a patch merged into it.
func (w *work) merged(row, patch json.Value) []byte {
	start := len(w.room)
	w.room = appendMerged(w.room, row, patch)
	return w.made(start)
}

// keep copies a text to where it stays as it is until the work begins anew.
func (w *work) keep(text []byte) []byte {
	start := len(w.room)
	w.room = append(w.room, text...)
	return w.room[start:len(w.room):len(w.room)]
}

// part returns the name of the part of a set that a request sees; nil for the one of all.
func partOf(o *renderer.Operand, w *work, r *matcher.Request) []byte {
	if o == nil {
		return nil
	}
	text, ok := o.Text(r)
	if !ok || len(text) == 0 {
		return nil
	}
	return w.keep(text)
}

// find returns the row; no row if there is none. It reports false if that would take too long.
func (f *find) find(w *work, r *matcher.Request) (row state.Row, ok bool) {
	part := partOf(f.part, w, r)
	if f.key != nil {
		key, ok := f.key.Text(r)
		if !ok {
			return state.Row{}, true
		}
		return w.tx.Get(f.set.Set, part, w.keep(key)), true
	}
	from := len(w.room)
	all := f.values(w, r)
	value := w.made(from)
	if f.pick == pickFirst || f.pick == pickNewest {
		return w.tx.First(f.set.Set, part, all, f.pick == pickNewest)
	}
	rows, ok := w.tx.Having(f.set.Set, part, all)
	if !ok {
		return state.Row{}, false
	}
	if row = f.choose(rows, value, part, r); row.Found() {
		w.tx.Saw(f.set.Set, part, row)
	} else if rows.Len() == 0 {
		return w.tx.First(f.set.Set, part, all, false) // there is none: that counts as seen
	}
	return row, true
}

// values returns the values that the row has to have. They are what is appended to the room.
func (f *find) values(w *work, r *matcher.Request) []state.Equal {
	first := len(w.equal)
	for i := range f.where {
		start := len(w.room)
		w.room = f.where[i].to.AppendOrdered(w.room, r)
		w.equal = append(w.equal, state.Equal{Order: f.where[i].order, Value: w.made(start)})
	}
	return w.equal[first:len(w.equal):len(w.equal)]
}

// choose returns one of several rows.
func (f *find) choose(rows state.Having, value, part []byte, r *matcher.Request) state.Row {
	n := rows.Len()
	if n == 0 {
		return state.Row{}
	}
	switch f.pick {
	case pickRandom:
		return rows.At(r.Random.IntN(n))
	case pickHash:
		text, _ := f.hash.Text(r)
		h := fnv.New64a()
		h.Write(text) // never fails
		return rows.At(int(h.Sum64() % uint64(n)))
	}
	return f.turns.next(rows, value, part, f.pick == pickNext)
}
