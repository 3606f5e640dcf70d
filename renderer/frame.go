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
