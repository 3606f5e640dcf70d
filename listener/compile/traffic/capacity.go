package traffic

import (
	"fmt"
	"sync"
	"time"

	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/internal/wording"
	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
)

// Waiter is the connection of a request that may need to wait.
type Waiter interface {
	// Wait waits until Wake is called or the client leaves, and reports whether the client left.
	Wait() (left bool)
	Wake() // from any goroutine
}

// Capacity limits how many requests to an endpoint are served at once. Further requests wait, in
// order of arrival, in the goroutines of their connections.
type Capacity struct {
	concurrent, queue int
	full              *reply.Preset // the reply to a refused request

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
	at          time.Time // since when the request has the place
	ahead, next *turn
}

// carriedCapacity returns the capacity that an endpoint declares, or nil if it declares none. If
// the endpoint declared the same capacity before a reload, that capacity is reused: requests being
// served count, and waiting ones keep their turn.
func carriedCapacity(k *Carried, e *item.Endpoint) *Capacity {
	declared := e.Capacity
	if declared == nil {
		return nil
	}
	return Keep(k, e, fmt.Sprint("capacity ", declared.Concurrent, declared.Queue), func() *Capacity { return newCapacity(declared) })
}

func newCapacity(c *policy.Capacity) *Capacity {
	return &Capacity{
		concurrent: c.Concurrent, queue: c.Queue,
		full: reply.CapacityExceeded.Preset(fmt.Sprintf("all places are taken: this endpoint serves %s at once, and lets %d wait",
			wording.Count(c.Concurrent, "request"), c.Queue)),
	}
}

// Enter waits for a place, in order of arrival, for a request that arrived at came. It reports
// whether the request has a place, and since when; Leave must then be called. Otherwise the request
// has been answered, or its client left. A request without a waiter does not wait.
//
// A place counts from when it was due to be free, not from when the waiter woke up: otherwise each
// handover would take a little longer than declared, and the sum of these delays would be missing
// from the throughput.
func (p *Capacity) Enter(w Waiter, came time.Time, answer *reply.Reply, t *record.Trace) (since time.Time, ok bool) {
	since, waits, ok := p.arrive(w, came)
	if waits == nil {
		if !ok {
			t.Refused = true
			p.full.Write(answer)
		}
		return since, ok
	}
	begun := time.Now()
	for {
		left := w.Wait()
		if over, served := p.look(waits, left); over {
			since = later(waits.at, came)
			t.Waits(max(since.Sub(begun), 0))
			return since, served
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
func (p *Capacity) arrive(w Waiter, came time.Time) (since time.Time, waits *turn, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving < p.concurrent {
		return p.take(came), nil, true
	}
	if p.waiting >= p.queue || w == nil {
		return came, nil, false
	}
	waits = &turn{waiter: w, ahead: p.last}
	if p.last == nil {
		p.first = waits
	} else {
		p.last.next = waits
	}
	p.last = waits
	p.waiting++
	return came, waits, true
}

// take takes the place that has been free longest, and returns the time from which a request that
// arrived at came has it.
func (p *Capacity) take(came time.Time) time.Time {
	since := came
	if p.concurrent-p.serving == p.fresh {
		since = later(came, p.freed[p.oldest])
		p.oldest = (p.oldest + 1) % freedKept
		p.fresh--
	}
	p.serving++
	return since
}

// free records that a place that was in use has been free since at.
func (p *Capacity) free(at time.Time) {
	p.serving--
	if p.fresh == freedKept {
		p.oldest = (p.oldest + 1) % freedKept
		p.fresh--
	}
	p.freed[(p.oldest+p.fresh)%freedKept] = at
	p.fresh++
}

// look reports whether the wait is over, and whether the request got a place. If the client left,
// the request loses its turn, and also its place if it has just got one.
func (p *Capacity) look(t *turn, left bool) (over, served bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case left && t.served:
		p.pass(time.Now())
	case left:
		p.remove(t)
	}
	return left || t.served, t.served && !left
}

// Leave gives the place to the request that has waited longest, or frees it if none waits. Either
// counts from at, when the leaving request was due to leave.
func (p *Capacity) Leave(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(at)
}

// pass does what Leave does; the lock must be held.
func (p *Capacity) pass(at time.Time) {
	next := p.first
	if next == nil {
		p.free(at)
		return
	}
	p.remove(next)
	next.served, next.at = true, at
	next.waiter.Wake()
}

func (p *Capacity) remove(t *turn) {
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
	p.waiting--
}
