package renderer

import "mockserver/matcher"

// frame is what rendering a template with loops keeps while it works. It belongs
// to one rendering at a time.
type frame struct {
	turns []loop // by depth, the outermost first
	memos []memo
	count int // turns begun so far
}

// loop is one turn of a for block.
type loop struct {
	item         value
	index, count int // index from 1
	turn         int // its number among all turns of the rendering
}

// memo is a value that stays what it is while an inner loop turns. Without it a
// loop over a large body would read that body once a turn.
type memo struct {
	v    value
	turn int    // the turn that v is of; 0 for none yet
	room []byte // holds the text of v when it had to be decoded
}

// always is the turn of a value that is the same for the whole request.
const always = -1

// maxRoom is the most room that a memo keeps between renderings, in bytes.
const maxRoom = 16 << 10

// reset forgets the request.
func (fr *frame) reset() {
	clear(fr.turns)
	fr.count = 0
	for i := range fr.memos {
		room := fr.memos[i].room
		if cap(room) > maxRoom {
			room = nil
		}
		fr.memos[i] = memo{room: room[:0]}
	}
}

// remembered is the value of e, worked out at most once a turn of the loop that
// it depends on. What it took of the arena is given back.
func (e *expr) remembered(r *matcher.Request, fr *frame) value {
	m := &fr.memos[e.memo-1]
	turn := always
	if e.op == opLoopItem {
		turn = fr.turns[e.index].turn
	}
	if m.turn == turn {
		return m.v
	}
	mark := len(r.Arena)
	m.v, m.turn = e.find(r, fr), turn
	if len(r.Arena) > mark {
		m.room = append(m.room[:0], m.v.raw...) // the value before it ended with its turn
		m.v.raw = m.room[:len(m.room):len(m.room)]
		r.Arena = r.Arena[:mark]
	}
	return m.v
}

// appendNodes renders nodes.
func appendNodes(dst []byte, nodes []node, r *matcher.Request, fr *frame) []byte {
	for i := range nodes {
		n := &nodes[i]
		switch n.kind {
		case literalNode:
			dst = append(dst, n.text...)
		case outputNode:
			v := n.expr.eval(r, fr)
			dst = n.write.append(dst, v)
		case branchNode:
			for j := range n.arms {
				if a := &n.arms[j]; a.cond == nil || a.cond.holds(r, fr) {
					dst = appendNodes(dst, a.body, r, fr)
					break
				}
			}
		case loopNode:
			dst = appendLoop(dst, n, r, fr)
		}
	}
	return dst
}

// appendLoop renders the body once for each element of an array; any other
// value is an empty array. What a turn puts into the arena is given back at its
// end, so that the arena does not grow with the number of turns.
func appendLoop(dst []byte, n *node, r *matcher.Request, fr *frame) []byte {
	v := n.expr.eval(r, fr)
	if v.kind != array {
		return dst
	}
	list := v.json()
	turn := &fr.turns[n.loop]
	*turn = loop{count: list.Len()}
	elements := list.Elements()
	for {
		element, ok := elements.Next()
		if !ok {
			return dst
		}
		mark := len(r.Arena)
		fr.count++
		turn.turn = fr.count
		turn.item = fromJSON(element, r)
		turn.index++
		dst = appendNodes(dst, n.body, r, fr)
		r.Arena = r.Arena[:mark]
	}
}
