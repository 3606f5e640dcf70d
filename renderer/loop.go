package renderer

import (
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// frame is the state of rendering a template with loops. It belongs to one rendering at a time.
type frame struct {
	turns []loop // by depth, the outermost first
	memos []memo
	count int // number of iterations so far
	index int // of the item of a stream
	work  work
}

// loop is one iteration of a for block.
type loop struct {
	item         value.Value
	index, count int // index from 1
	turn         int // its number among all iterations of the rendering
}

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

// spend counts an iteration, or another step that reads a number of bytes. Without loops there is
// no frame, because each step happens once.
func (fr *frame) spend(bytes int, r *matcher.Request) {
	if fr == nil {
		return
	}
	units := 1 + bytes/workUnit
	fr.work.done += units
	fr.work.unlooked += units
	if fr.work.unlooked >= lookEvery && r.Stopped == nil {
		r.Stopped = fr.work.look(r)
	}
}

// appendNodes renders nodes, until dst is longer than most or r is Stopped for another reason.
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
		r.Arena = r.Arena[:mark] // the value has been written, or copied
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
// array. The memory that an iteration uses in the arena is released at the end of the iteration, so
// that the arena does not grow with the number of iterations.
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
