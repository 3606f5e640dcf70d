// Package wheel keeps times at which something falls due.
package wheel

import "math/bits"

// Wheel is a hierarchical timing wheel. It stores when entries fall due, in ticks. It is a pure
// data structure, without a clock, goroutine or lock. The cost of adding, canceling and taking an
// entry does not depend on the number of entries. An entry is moved at most once for each level
// between its tick and now.
//
// Entries are positive numbers chosen by the caller. They should be small: the wheel uses 16 bytes
// for each number up to the largest one, without pointers that the garbage collector must follow.
// Entries of one tick are returned in the order in which they were added.
type Wheel struct {
	now int64 // entries that fell due up to now are in due

	nodes Paged[node]
	// levels[l] contains the entries whose tick differs from now in digit l and in no higher digit;
	// the digit is the slot. There are enough digits for any tick.
	levels [levels]level
	moving list // the entries of an opened slot that are being distributed over the lower levels
	due    list
}

const (
	digit  = 6 // bits per digit
	slots  = 1 << digit
	levels = (63 + digit - 1) / digit
)

type level struct {
	filled uint64 // one bit for each slot that is not empty
	slots  [slots]list
}

// list is a doubly linked list of entries; entry 0 means none.
type list struct{ first, last uint32 }

// node contains the tick at which an entry falls due (0 if it is not in the Wheel) and its
// neighbors. The list that contains the entry is not recorded. Removing an entry from the middle of
// a list does not require it; otherwise the list is due, moving, or the one for the tick.
type node struct {
	tick       int64
	next, prev uint32
}

// Add adds an entry that is not in the wheel. Ticks count from 1; an entry whose tick has passed is
// due at once.
func (w *Wheel) Add(tick int64, entry uint32) {
	n := w.nodes.Grow(entry)
	n.tick = max(tick, 1)
	if w.moving.first != 0 { // after the entries of the same tick that were added before
		w.link(&w.moving, n, entry)
		return
	}
	w.place(n, entry)
}

// Cancel removes an entry from the wheel and reports whether the wheel contained it.
func (w *Wheel) Cancel(entry uint32) bool {
	if entry == 0 || !w.nodes.Has(entry) {
		return false
	}
	n := w.nodes.At(entry)
	if n.tick == 0 {
		return false
	}
	w.remove(n, entry)
	return true
}

// Advance advances the wheel to now, in at most budget steps, and reports whether it has reached
// now; if not, it must be called again. Entries that fall due are returned by Take.
func (w *Wheel) Advance(now int64, budget int) bool {
	for ; budget > 0; budget-- {
		if entry := w.moving.first; entry != 0 {
			n := w.nodes.At(entry)
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

// Next returns the next tick at which Advance has work to do: the first entry falls due then, or
// later. ok is false if the wheel contains only due entries.
func (w *Wheel) Next() (tick int64, ok bool) {
	if w.moving.first != 0 {
		return w.now, true
	}
	l, tick := w.earliest()
	return tick, l >= 0
}

// Take removes and returns the first due entry; 0 if none is due.
func (w *Wheel) Take() uint32 {
	entry := w.due.first
	if entry != 0 {
		w.remove(w.nodes.At(entry), entry)
	}
	return entry
}

// earliest returns the level of the first slot that is not empty, and the tick at which it begins;
// the level is -1 if all slots are empty.
func (w *Wheel) earliest() (l int, tick int64) {
	for l := range w.levels {
		if filled := w.levels[l].filled; filled != 0 {
			above := w.now >> ((l + 1) * digit) << ((l + 1) * digit)
			return l, above | int64(bits.TrailingZeros64(filled))<<(l*digit)
		}
	}
	return -1, 0
}

// open removes the entries of a slot whose tick has been reached. Entries of the lowest level are
// due; the others must be distributed.
func (w *Wheel) open(l, slot int) {
	from := &w.levels[l].slots[slot]
	w.levels[l].filled &^= 1 << slot
	into := &w.moving
	if l == 0 {
		into = &w.due
	}
	if into.last == 0 {
		*into = *from
	} else {
		w.nodes.At(into.last).next = from.first
		w.nodes.At(from.first).prev = into.last
		into.last = from.last
	}
	*from = list{}
}

// place puts an entry into the list for its tick.
func (w *Wheel) place(n *node, entry uint32) {
	into := &w.due
	if n.tick > w.now {
		l, slot := w.slot(n.tick)
		into = &w.levels[l].slots[slot]
		w.levels[l].filled |= 1 << slot
	}
	w.link(into, n, entry)
}

// link appends an entry to a list.
func (w *Wheel) link(into *list, n *node, entry uint32) {
	n.next, n.prev = 0, into.last
	if into.last == 0 {
		into.first = entry
	} else {
		w.nodes.At(into.last).next = entry
	}
	into.last = entry
}

// slot returns the level and the slot of a tick after now.
func (w *Wheel) slot(tick int64) (l, slot int) {
	l = (bits.Len64(uint64(tick^w.now)) - 1) / digit
	return l, int(tick>>(l*digit)) % slots
}

// remove removes an entry from the wheel.
func (w *Wheel) remove(n *node, entry uint32) {
	switch {
	case w.due.first == entry || w.due.last == entry:
		w.unlink(&w.due, n)
	case w.moving.first == entry || w.moving.last == entry:
		w.unlink(&w.moving, n)
	case n.prev != 0 && n.next != 0:
		w.unlink(nil, n) // it is neither first nor last, so its list need not be known
	default:
		l, slot := w.slot(n.tick)
		from := &w.levels[l].slots[slot]
		w.unlink(from, n)
		if from.first == 0 {
			w.levels[l].filled &^= 1 << slot
		}
	}
	n.tick = 0
}

// unlink removes a node from a list. The list may be nil if the node is neither its first nor its
// last.
func (w *Wheel) unlink(from *list, n *node) {
	if n.prev != 0 {
		w.nodes.At(n.prev).next = n.next
	} else {
		from.first = n.next
	}
	if n.next != 0 {
		w.nodes.At(n.next).prev = n.prev
	} else {
		from.last = n.prev
	}
	n.next, n.prev = 0, 0
}
