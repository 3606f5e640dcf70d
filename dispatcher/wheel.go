package dispatcher

import "math/bits"

// wheel is a hierarchical timing wheel: which entries fall due when, in ticks. It
// is a pure structure, without clock, goroutine or lock. Adding, cancelling and
// taking an entry cost the same however many there are, and an entry is moved at
// most once for each level that its tick is away.
//
// Entries are positive numbers, given by the caller and best kept small: the wheel
// keeps 16 bytes for each up to the largest, and no pointer for the collector to
// follow. Entries of one tick come out in the order they were added.
type wheel struct {
	now  int64 // what fell due up to now is in due
	size int   // entries on the wheel, due ones too

	nodes paged[node]
	// levels[l] holds the entries whose tick differs from now in digit l and in no
	// higher one; the digit is its slot. There are digits enough for any tick.
	levels [levels]level
	moving list // the entries of an opened slot that are being spread over the levels below
	due    list
}

const (
	digit  = 6 // bits of a digit
	slots  = 1 << digit
	levels = (63 + digit - 1) / digit
)

type level struct {
	filled uint64 // a bit for each slot that is not empty
	slots  [slots]list
}

// list is a doubly linked list of entries; entry 0 is none.
type list struct{ first, last uint32 }

// node is an entry: when it falls due, 0 when it is not on the wheel, and its
// neighbours. Which list it is in follows from its tick, or from being the first or
// last of it.
type node struct {
	tick       int64
	next, prev uint32
}

// add sets an entry on the wheel that is not on it. Ticks count from 1; one that is
// past is due at once.
func (w *wheel) add(tick int64, entry uint32) {
	n := w.nodes.grow(entry)
	n.tick = max(tick, 1)
	w.size++
	if w.moving.first != 0 { // behind those of its tick that were added before
		w.link(&w.moving, n, entry)
		return
	}
	w.place(n, entry)
}

// cancel takes an entry off the wheel and reports whether it was on it.
func (w *wheel) cancel(entry uint32) bool {
	if entry == 0 || !w.nodes.has(entry) {
		return false
	}
	n := w.nodes.at(entry)
	if n.tick == 0 {
		return false
	}
	w.remove(n, entry)
	return true
}

// advance brings the wheel to now, touching about budget entries, and tells
// whether it got there; if not there is more to do. What falls due is for take.
func (w *wheel) advance(now int64, budget int) bool {
	for ; budget > 0; budget-- {
		if entry := w.moving.first; entry != 0 {
			n := w.nodes.at(entry)
			w.unlink(&w.moving, n)
			w.place(n, entry)
			continue
		}
		l, tick := w.earliest()
		if l < 0 || tick > now {
			w.now = max(w.now, now)
			return true
		}
		w.now = tick
		w.open(l, int(tick>>(l*digit))%slots)
	}
	return false
}

// next is the tick at which advance has something to do: the first entry falls due
// then, or later. It is not ok for a wheel that holds nothing but due entries.
func (w *wheel) next() (tick int64, ok bool) {
	if w.moving.first != 0 {
		return w.now, true
	}
	l, tick := w.earliest()
	return tick, l >= 0
}

// take takes the first due entry off the wheel; 0 when none is due.
func (w *wheel) take() uint32 {
	entry := w.due.first
	if entry != 0 {
		w.remove(w.nodes.at(entry), entry)
	}
	return entry
}

// earliest returns the level of the first slot that is not empty, and the tick at
// which it begins; level -1 for none.
func (w *wheel) earliest() (l int, tick int64) {
	for l := range w.levels {
		if filled := w.levels[l].filled; filled != 0 {
			above := w.now >> ((l + 1) * digit) << ((l + 1) * digit)
			return l, above | int64(bits.TrailingZeros64(filled))<<(l*digit)
		}
	}
	return -1, 0
}

// open takes the entries of a slot whose tick has come. Those of the lowest level
// are due, the others are to be spread.
func (w *wheel) open(l, slot int) {
	from := &w.levels[l].slots[slot]
	w.levels[l].filled &^= 1 << slot
	into := &w.moving
	if l == 0 {
		into = &w.due
	}
	if into.last == 0 {
		*into = *from
	} else {
		w.nodes.at(into.last).next = from.first
		w.nodes.at(from.first).prev = into.last
		into.last = from.last
	}
	*from = list{}
}

// place puts an entry where its tick belongs.
func (w *wheel) place(n *node, entry uint32) {
	into := &w.due
	if n.tick > w.now {
		l, slot := w.slot(n.tick)
		into = &w.levels[l].slots[slot]
		w.levels[l].filled |= 1 << slot
	}
	w.link(into, n, entry)
}

// link appends an entry to a list.
func (w *wheel) link(into *list, n *node, entry uint32) {
	n.next, n.prev = 0, into.last
	if into.last == 0 {
		into.first = entry
	} else {
		w.nodes.at(into.last).next = entry
	}
	into.last = entry
}

// slot tells where a tick after now belongs.
func (w *wheel) slot(tick int64) (l, slot int) {
	l = (bits.Len64(uint64(tick^w.now)) - 1) / digit
	return l, int(tick>>(l*digit)) % slots
}

// remove takes an entry off the wheel.
func (w *wheel) remove(n *node, entry uint32) {
	switch {
	case w.due.first == entry || w.due.last == entry:
		w.unlink(&w.due, n)
	case w.moving.first == entry || w.moving.last == entry:
		w.unlink(&w.moving, n)
	case n.prev != 0 && n.next != 0:
		w.unlink(nil, n) // of whatever list, it is neither first nor last
	default:
		l, slot := w.slot(n.tick)
		from := &w.levels[l].slots[slot]
		w.unlink(from, n)
		if from.first == 0 {
			w.levels[l].filled &^= 1 << slot
		}
	}
	n.tick = 0
	w.size--
}

// unlink takes a node out of a list, which may be left out when the node is
// neither its first nor its last.
func (w *wheel) unlink(from *list, n *node) {
	if n.prev != 0 {
		w.nodes.at(n.prev).next = n.next
	} else {
		from.first = n.next
	}
	if n.next != 0 {
		w.nodes.at(n.next).prev = n.prev
	} else {
		from.last = n.prev
	}
	n.next, n.prev = 0, 0
}
