package dispatcher

import "mockserver/internal/wheel"

// list is a list of entries; entry 0 means none.
type list struct{ first, last uint32 }

// target is a scheme, host and port that deliveries are sent to. Due deliveries wait at their
// target, so that a slow target does not delay other targets.
type target struct {
	name     string
	inFlight int
	failures int  // consecutive attempts that got no response
	ready    list // entries that are due, the earliest first, linked by entry.next

	queued bool    // the target is in the round
	after  *target // the next in the round
}

// push appends an entry to the ready ones.
func (t *target) push(id uint32, entries *wheel.Paged[entry]) {
	entries.At(id).next = 0
	if t.ready.last == 0 {
		t.ready.first = id
	} else {
		entries.At(t.ready.last).next = id
	}
	t.ready.last = id
}

// pop removes and returns the first ready entry.
func (t *target) pop(entries *wheel.Paged[entry]) uint32 {
	id := t.ready.first
	if t.ready.first = entries.At(id).next; t.ready.first == 0 {
		t.ready.last = 0
	}
	return id
}

const (
	// dead is the number of consecutive attempts without a response after which a target is limited
	// to fewWorkers.
	dead       = 8
	fewWorkers = 8
)

// mayTake reports whether the target may use one more of the free workers. A target may use as many
// workers as are free: a single target gets half of all workers, k busy targets get 1/(k+1) each,
// and some are left for a new target. A dead target, whose workers wait for timeouts, soon has only
// a few.
func (t *target) mayTake(free int) bool {
	if t.failures >= dead && t.inFlight >= fewWorkers {
		return false
	}
	return t.inFlight < free || t.inFlight == 0 && free > 0
}

// round is the queue of targets that have ready deliveries.
type round struct {
	first, last *target
	size        int
}

func (r *round) push(t *target) {
	t.queued, t.after = true, nil
	if r.last == nil {
		r.first = t
	} else {
		r.last.after = t
	}
	r.last = t
	r.size++
}

func (r *round) pop() *target {
	t := r.first
	if r.first = t.after; r.first == nil {
		r.last = nil
	}
	t.queued, t.after = false, nil
	r.size--
	return t
}
