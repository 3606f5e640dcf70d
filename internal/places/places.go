// Package places limits how many requests are served at once. Further requests wait, in order of
// arrival, in the goroutines of their connections.
package places

import (
	"errors"
	"sync"
	"time"
)

// Waiter is the connection of a request that may have to wait.
type Waiter interface {
	// Wait waits for Wake, or for another event, and reports whether the client left.
	Wait() (left bool)
	Wake() // ends the current or next Wait; may be called from any goroutine
}

// The reasons why a request gets no place.
var (
	ErrFull = errors.New("all places are taken, and no further request may wait")
	ErrLeft = errors.New("the client left")
	ErrLate = errors.New("no place became free in time")
)

// Places are the places of the requests that are served at once, and the queue of those that wait.
type Places struct {
	most, queue int

	mu          sync.Mutex // guards the fields below
	serving     int        // number of places in use; all places while a request waits
	waiting     int
	first, last *turn
	freed       [freedKept]time.Time // ring of the times when the last free places became free
	oldest      int                  // index of the oldest time
	fresh       int                  // number of times; other free places have been free for long
}

// freedKept is the number of free places whose time of becoming free is recorded. That time matters
// only if the place became free while a request was in transit.
const freedKept = 32

// turn is a waiting request.
type turn struct {
	waiter      Waiter
	served      bool      // the request has a place
	over        bool      // the request no longer waits
	at          time.Time // since when the request has the place
	ahead, next *turn
}

// New returns a number of places, for which at most queue requests wait.
func New(most, queue int) *Places { return &Places{most: most, queue: queue} }

// Enter waits for a place, in order of arrival, for a request that arrived at came; until is when
// it stops waiting, or zero. It returns since when the request has the place, and whether it had to
// wait. The error is ErrFull, ErrLeft or ErrLate; without an error, Leave must be called. A request
// without a waiter does not wait.
//
// A place counts from when it was due to be free, not from when the waiter woke up: otherwise each
// handover would take a little longer than declared, and the sum of these delays would be missing
// from the throughput.
func (p *Places) Enter(w Waiter, came, until time.Time) (since time.Time, waited bool, err error) {
	since, waits, err := p.arrive(w, came)
	if waits == nil {
		return since, false, err
	}
	if !until.IsZero() {
		timer := time.AfterFunc(time.Until(until), func() { p.wake(waits) })
		defer timer.Stop()
	}
	for {
		left := w.Wait()
		if over, err := p.look(waits, left, until); over {
			return later(waits.at, came), true, err
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// arrive takes a place, or a turn at the end of the queue, or reports that neither is available.
func (p *Places) arrive(w Waiter, came time.Time) (since time.Time, waits *turn, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving < p.most {
		return p.take(came), nil, nil
	}
	if p.waiting >= p.queue || w == nil {
		return came, nil, ErrFull
	}
	waits = &turn{waiter: w, ahead: p.last}
	if p.last == nil {
		p.first = waits
	} else {
		p.last.next = waits
	}
	p.last = waits
	p.waiting++
	return came, waits, nil
}

// take takes the place that has been free longest, and returns the time from which a request that
// arrived at came has it.
func (p *Places) take(came time.Time) time.Time {
	since := came
	if p.most-p.serving == p.fresh {
		since = later(came, p.freed[p.oldest])
		p.oldest = (p.oldest + 1) % freedKept
		p.fresh--
	}
	p.serving++
	return since
}

// free records that a place that was in use has been free since at.
func (p *Places) free(at time.Time) {
	p.serving--
	if p.fresh == freedKept {
		p.oldest = (p.oldest + 1) % freedKept
		p.fresh--
	}
	p.freed[(p.oldest+p.fresh)%freedKept] = at
	p.fresh++
}

// look reports whether the wait is over, and why the request got no place. If the client left, the
// request loses its turn, and also its place if it has just got one.
func (p *Places) look(t *turn, left bool, until time.Time) (over bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.served && left:
		p.pass(time.Now())
		return true, ErrLeft
	case t.served:
		return true, nil
	case left:
		p.remove(t)
		return true, ErrLeft
	case !until.IsZero() && !time.Now().Before(until):
		p.remove(t)
		return true, ErrLate
	}
	return false, nil
}

// wake wakes the request of a turn if it still waits. A Waiter whose request no longer waits may
// already serve another request.
func (p *Places) wake(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.over {
		t.waiter.Wake()
	}
}

// Leave gives the place to the request that has waited longest, or frees it if none waits. Either
// counts from at, when the leaving request was due to leave.
func (p *Places) Leave(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(at)
}

// pass does what Leave does; the lock must be held.
func (p *Places) pass(at time.Time) {
	next := p.first
	if next == nil {
		p.free(at)
		return
	}
	p.remove(next)
	next.served, next.at = true, at
	next.waiter.Wake()
}

func (p *Places) remove(t *turn) {
	if t.ahead == nil {
		p.first = t.next
	} else {
		t.ahead.next = t.next
	}
	if t.next == nil {
		p.last = t.ahead
	} else {
		t.next.ahead = t.ahead
	}
	t.over = true
	p.waiting--
}
