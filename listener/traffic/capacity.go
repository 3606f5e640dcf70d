package traffic

import (
	"fmt"
	"sync"
	"time"

	"mockserver/config"
	"mockserver/internal/wording"
	"mockserver/listener/record"
	"mockserver/listener/reply"
)

// Waiter is the connection of a request that may have to wait.
type Waiter interface {
	// Wait waits for Wake, or for something else, and reports whether the client left.
	Wait() (left bool)
	Wake() // from any goroutine
}

// Capacity bounds how many requests of an endpoint are served at once. Others wait, in
// the order they came, in the goroutines of their connections.
type Capacity struct {
	concurrent, queue int
	full              *reply.Preset // the answer to who is refused

	mu          sync.Mutex // guards what follows
	serving     int        // places that are taken; all of them while one waits
	waiting     int
	first, last *turn
}

// turn is a request that waits.
type turn struct {
	waiter      Waiter
	served      bool // it has a place
	ahead, next *turn
}

// keptCapacity is what an endpoint declares of it; nil is none. One that was declared alike
// for the same endpoint before goes on: who is served counts, and who waits keeps its
// turn.
func keptCapacity(k *Carried, e *config.Endpoint) *Capacity {
	declared := e.Capacity
	if declared == nil {
		return nil
	}
	return Keep(k, e, fmt.Sprint("capacity ", declared.Concurrent, declared.Queue), func() *Capacity { return newCapacity(declared) })
}

func newCapacity(c *config.Capacity) *Capacity {
	return &Capacity{
		concurrent: c.Concurrent, queue: c.Queue,
		full: reply.CapacityExceeded.Preset(fmt.Sprintf("all places are taken: this endpoint serves %s at once, and lets %d wait",
			wording.Count(c.Concurrent, "request"), c.Queue)),
	}
}

// Enter waits for a place, in order, and reports whether the request has one: Leave
// has to be called then. Otherwise it has been answered, or its client left. A request
// without a waiter does not wait.
func (p *Capacity) Enter(w Waiter, answer *reply.Reply, t *record.Trace) bool {
	waits, ok := p.arrive(w)
	if waits == nil && !ok {
		t.Refused = true
		p.full.Write(answer)
	}
	if waits == nil {
		return ok
	}
	begun := time.Now()
	for {
		left := w.Wait()
		if over, served := p.look(waits, left); over {
			t.Waits(time.Since(begun))
			return served
		}
	}
}

// arrive takes a place, or the last turn, or reports that there is neither.
func (p *Capacity) arrive(w Waiter) (waits *turn, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving < p.concurrent {
		p.serving++
		return nil, true
	}
	if p.waiting >= p.queue || w == nil {
		return nil, false
	}
	waits = &turn{waiter: w, ahead: p.last}
	if p.last == nil {
		p.first = waits
	} else {
		p.last.next = waits
	}
	p.last = waits
	p.waiting++
	return waits, true
}

// look reports whether the wait is over, and whether with a place. Who left gives its
// turn up, and its place if it got one just then.
func (p *Capacity) look(t *turn, left bool) (over, served bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case left && t.served:
		p.pass()
	case left:
		p.remove(t)
	}
	return left || t.served, t.served && !left
}

// Leave gives a place to who has waited longest.
func (p *Capacity) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
}

// pass does what Leave does, under the lock.
func (p *Capacity) pass() {
	next := p.first
	if next == nil {
		p.serving--
		return
	}
	p.remove(next)
	next.served = true
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
