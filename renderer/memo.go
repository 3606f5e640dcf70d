package renderer

import (
	"math"

	"mockserver/renderer/value"
)

// memo is a value that does not change during an inner loop. Without it, a loop over a large body
// would read that body in each iteration.
type memo struct {
	v    value.Value
	turn int    // the iteration to which v belongs; 0 for none yet
	room []byte // the text of v, if it was decoded
}

// always is the iteration of a value that is the same for the whole request.
const always = -1

// maxRoom is the largest buffer that a memo keeps between renderings, in bytes.
const maxRoom = 16 << 10

// noLoop stands for the loop of a value that no loop changes, and anyTurn for the loop of a value
// that is different on each evaluation.
const (
	noLoop  = -1
	anyTurn = math.MaxInt
)

// changes returns the loop whose iterations change the value before its filters, counted from the
// outermost.
func (e *expr) changes() int {
	switch e.op {
	case opLoopItem, opLoopIndex, opLoopFirst, opLoopLast:
		return e.index
	case opRandom, opRandomInt, opPick, opFake, opCounter, opRandomText, opRandomHex:
		return anyTurn
	}
	return noLoop
}

// remember assigns a memo to an expression, including as many of its filters as possible, if a
// surrounding loop would otherwise evaluate it again in each iteration. Memos last as long as a rendering.
func (s *scanner) remember(e *expr) {
	inner := len(s.loops) - 1
	turns := e.changes()
	if inner < len(s.scope.Loops) || turns >= inner {
		return
	}
	steady := 0
	for _, f := range e.filters {
		if f.arg != nil {
			if f.arg.changes() >= inner {
				break
			}
			turns = max(turns, f.arg.changes())
		}
		steady++
	}
	switch e.op {
	case opQuery, opHeader, opCookie, opForm, opJSON, opLoopItem, opRow, opModel, opResponse: // they need a search
	default:
		if steady == 0 && !e.length {
			return
		}
	}
	s.memos++
	e.memo, e.steady, e.turns = s.memos, steady, turns
}
