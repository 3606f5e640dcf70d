package renderer

import (
	"math"
	"strconv"

	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// Turns are the iterations of the loops around texts, such as those of the items of a stream. The texts are compiled
// in a Scope with the names of the loops. Turns belong to one request at a time. They keep lists and elements in the
// arena of the request, which nothing else may truncate before they end.
type Turns struct {
	frame frame
	lists []list
}

// list is what a loop iterates over.
type list struct {
	elements   json.Elements
	mark, kept int // the length of the arena before the list, and with it
}

// Begin prepares the turns for a new request, with the given number of nested loops.
func (t *Turns) Begin(loops int) {
	if cap(t.lists) < loops {
		t.lists, t.frame.turns = make([]list, loops), make([]loop, loops)
	}
	t.lists, t.frame.turns = t.lists[:loops], t.frame.turns[:loops]
}

// Item begins the work for the item with an index, which has a limit of its own.
func (t *Turns) Item(index int) { t.frame.index, t.frame.work = index, work{} }

// Spend counts one step of the work for an item.
func (t *Turns) Spend(r *matcher.Request) { t.frame.spend(0, r) }

// Loop is a loop around texts. It is immutable and safe for concurrent use.
type Loop struct {
	over  expr
	place int // the number of loops around it
	kind  loopKind
}

type loopKind uint8

const (
	eachElement loopKind = iota
	manyTimes
	endless
)

// Endless returns a loop without an end, in a scope.
func Endless(scope *Scope) *Loop { return &Loop{place: len(scope.Loops), kind: endless} }

// CompileFor compiles NAME in OPERAND, a loop over the elements of a list, and returns it with the name.
func CompileFor(text syntax.Text, scope *Scope) (l *Loop, name string, problems syntax.Problems) {
	s := newSource(text, scope)
	sc := newScanner(s, 0, len(text.Value))
	variable := sc.tok
	sc.next()
	if variable.kind != wordToken || !sc.tok.word("in") {
		s.fail(0, "expected NAME in OPERAND, such as word in json-params.prompt|words")
		return nil, "", s.problems
	}
	s.checkLoopName(variable)
	sc.next()
	return sc.loop(eachElement), variable.text, s.problems
}

// CompileTimes compiles the operand of a loop that has as many iterations as a number says.
func CompileTimes(text syntax.Text, scope *Scope) (*Loop, syntax.Problems) {
	s := newSource(text, scope)
	return newScanner(s, 0, len(text.Value)).loop(manyTimes), s.problems
}

// loop parses the operand of a loop. After an error, which has been reported, the result must not be used.
func (s *scanner) loop(kind loopKind) *Loop {
	e, ok := s.conditionOperand()
	if s.bare = false; ok && s.tok.kind != endToken {
		s.fail(s.tok.offset, "unexpected %s after the operand", s.tok.describe())
	}
	return &Loop{over: e, place: len(s.scope.Loops), kind: kind}
}

// Fixed returns the number of iterations of a loop that is the same for every request.
func (l *Loop) Fixed() (n int, ok bool) {
	if l.kind != manyTimes || !l.over.constant() {
		return 0, false
	}
	return whole(l.over.literal)
}

// whole returns a whole number from 0 on; one that no int can hold is the largest int.
func whole(v value.Value) (n int, ok bool) {
	f, err := strconv.ParseFloat(string(v.Raw), 64)
	if !v.IsNumeric() || err != nil && !math.IsInf(f, 1) || f < 0 || f != math.Trunc(f) {
		return 0, false
	}
	return int(min(f, math.MaxInt32)), true
}

// Begin begins the loop for r. A loop that would have more than the given number of iterations has that number, and is
// limited.
func (l *Loop) Begin(t *Turns, r *matcher.Request, most int) (limited bool) {
	turn, over := &t.frame.turns[l.place], &t.lists[l.place]
	*turn, *over = loop{turn: 1}, list{mark: len(r.Arena)}
	if l.kind != endless {
		v := l.over.eval(r, &t.frame)
		t.frame.spend(len(v.Raw), r)
		if l.kind == manyTimes {
			turn.count, _ = whole(v)
			r.Arena = r.Arena[:over.mark]
		} else if v.Kind == value.Array {
			turn.count, over.elements = v.JSON().Len(), v.JSON().Elements()
		}
	}
	over.kept = len(r.Arena)
	limited = turn.count > most
	turn.count = min(turn.count, most)
	return limited
}

// Next begins the next iteration, if there is one.
func (l *Loop) Next(t *Turns, r *matcher.Request) bool {
	turn, over := &t.frame.turns[l.place], &t.lists[l.place]
	r.Arena = r.Arena[:min(over.kept, len(r.Arena))]
	turn.index++
	if l.kind == endless {
		return true
	}
	if turn.index > turn.count {
		r.Arena = r.Arena[:min(over.mark, len(r.Arena))]
		return false
	}
	if l.kind == eachElement {
		element, _ := over.elements.Next()
		turn.item = value.OfJSON(element, r)
	}
	return true
}

// AppendIn is like Append, for a text inside loops.
func (t *Template) AppendIn(dst []byte, r *matcher.Request, turns *Turns) []byte {
	return t.append(dst, r, &turns.frame)
}

// HoldsIn is like Holds, for a condition inside loops. If their work is above its limit, r is Stopped.
func (c *Condition) HoldsIn(r *matcher.Request, turns *Turns) bool {
	holds := c == nil || c.root.holds(r, &turns.frame)
	if r.Stopped == ErrTooLarge {
		holds, r.Stopped = false, nil
	}
	return holds
}
