package renderer

import (
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// frame is the state of rendering a template with loops. It belongs to one rendering at a time.
type frame struct {
	turns []loop // by depth, the outermost first
	memos []memo
	count int // number of turns so far
	work  work
}

// loop is one turn of a for block.
type loop struct {
	item         value.Value
	index, count int // index from 1
	turn         int // its number among all turns of the rendering
}

// memo is a value that does not change during an inner loop. Without it, a loop over a large body
// would read that body in each turn.
type memo struct {
	v    value.Value
	turn int    // the turn to which v belongs; 0 for none yet
	room []byte // the text of v, if it had to be decoded
}

// always is the turn of a value that is the same for the whole request.
const always = -1

// maxRoom is the largest buffer that a memo keeps between renderings, in bytes.
const maxRoom = 16 << 10

// reset clears everything that belongs to a request.
func (fr *frame) reset() {
	clear(fr.turns)
	fr.count, fr.work = 0, work{}
	for i := range fr.memos {
		room := fr.memos[i].room
		if cap(room) > maxRoom {
			room = nil
		}
		fr.memos[i] = memo{room: room[:0]}
	}
}

// remembered returns the value of e, computed at most once in each turn of the loop that it depends
// on. The memory that it used in the arena is released.
func (e *expr) remembered(r *matcher.Request, fr *frame) value.Value {
	m := &fr.memos[e.memo-1]
	turn := always
	if e.turns != noLoop {
		turn = fr.turns[e.turns].turn
	}
	if m.turn == turn {
		return m.v
	}
	mark := len(r.Arena)
	m.v, m.turn = apply(e.filters[:e.steady], e.measured(r, fr), r, fr), turn
	if len(r.Arena) > mark {
		m.room = append(m.room[:0], m.v.Raw...) // the previous value ended with its turn
		m.v.Raw = m.room[:len(m.room):len(m.room)]
		r.Arena = r.Arena[:mark]
	}
	return m.v
}

// appendNodes renders nodes, until dst is longer than most.
func appendNodes(dst []byte, nodes []node, most int, r *matcher.Request, fr *frame) []byte {
	for i := range nodes {
		n := &nodes[i]
		mark := len(r.Arena)
		switch n.kind {
		case literalNode:
			dst = append(dst, n.text...)
		case outputNode:
			v := n.expr.eval(r, fr)
			dst = n.write.append(dst, v)
		case branchNode:
			for j := range n.arms {
				if a := &n.arms[j]; a.cond == nil || a.cond.holds(r, fr) {
					dst = appendNodes(dst, a.body, most, r, fr)
					break
				}
			}
		case loopNode:
			dst = appendLoop(dst, n, most, r, fr)
		}
		r.Arena = r.Arena[:mark] // it has been written, or copied
		if len(dst) > most && r.Stopped == nil {
			r.Stopped = ErrTooLarge
		}
		if r.Stopped != nil {
			return dst
		}
	}
	return dst
}

// appendLoop renders the body once for each element of an array; any other value counts as an empty
// array. The memory that a turn uses in the arena is released at its end, so that the arena does
// not grow with the number of turns.
func appendLoop(dst []byte, n *node, most int, r *matcher.Request, fr *frame) []byte {
	v := n.expr.eval(r, fr)
	if v.Kind != value.Array {
		return dst
	}
	fr.spend(len(v.Raw), r)
	list := v.JSON()
	turn := &fr.turns[n.loop]
	*turn = loop{count: list.Len()}
	elements := list.Elements()
	for r.Stopped == nil {
		element, ok := elements.Next()
		if !ok {
			return dst
		}
		mark, begin := len(r.Arena), len(dst)
		fr.count++
		turn.turn = fr.count
		turn.item = value.OfJSON(element, r)
		turn.index++
		dst = appendNodes(dst, n.body, most, r, fr)
		r.Arena = r.Arena[:mark]
		fr.work.unlooked += (len(dst) - begin) / workUnit
		fr.spend(0, r)
	}
	return dst
}
