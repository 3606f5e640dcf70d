package listener

import (
	"fmt"
	"sync"
	"time"

	"mockserver/config"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/listener/traffic"
	"mockserver/listener/wire"
)

// capacity bounds how many requests of an endpoint are served at once. Others wait, in
// the order they came, in the goroutines of their connections.
type capacity struct {
	concurrent, queue int
	full              *reply.Preset // the answer to who is refused

	mu          sync.Mutex // guards what follows
	serving     int        // places that are taken; all of them while one waits
	waiting     int
	first, last *turn
}

// turn is a request that waits.
type turn struct {
	peer        peer
	served      bool // it has a place
	ahead, next *turn
}

// capacity is what an endpoint declares of it; nil is none. One that was declared alike
// for the same endpoint before goes on: who is served counts, and who waits keeps its
// turn.
func (c *compiler) capacity(e *config.Endpoint) *capacity {
	declared := e.Capacity
	if declared == nil {
		return nil
	}
	return traffic.Keep(&c.kept, e, fmt.Sprint("capacity ", declared.Concurrent, declared.Queue), func() *capacity { return newCapacity(declared) })
}

func newCapacity(c *config.Capacity) *capacity {
	return &capacity{
		concurrent: c.Concurrent, queue: c.Queue,
		full: reply.CapacityExceeded.Preset(fmt.Sprintf("all places are taken: this endpoint serves %s at once, and lets %d wait",
			wording.Count(c.Concurrent, "request"), c.Queue)),
	}
}

// enter waits for a place, in order, and tells whether the request has one: leave
// has to be called then. Otherwise it has been answered, or its client left.
func (p *capacity) enter(c *call) bool {
	waits, ok := p.arrive(c.peer)
	if waits == nil && !ok {
		c.trace.Refused = true
		p.full.Write(&c.reply)
	}
	if waits == nil {
		return ok
	}
	begun := time.Now()
	for {
		left := c.peer.pause(time.Time{}) == wire.PauseLeft
		if over, served := p.look(waits, left); over {
			c.trace.Waits(time.Since(begun))
			return served
		}
	}
}

// arrive takes a place, or the last turn, or tells that there is neither.
func (p *capacity) arrive(from peer) (waits *turn, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving < p.concurrent {
		p.serving++
		return nil, true
	}
	if p.waiting >= p.queue || !from.exists() { // a request of a test has no connection to wait in
		return nil, false
	}
	waits = &turn{peer: from, ahead: p.last}
	if p.last == nil {
		p.first = waits
	} else {
		p.last.next = waits
	}
	p.last = waits
	p.waiting++
	return waits, true
}

// look tells whether the wait is over, and whether with a place. Who left gives its
// turn up, and its place if it got one just then.
func (p *capacity) look(t *turn, left bool) (over, served bool) {
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

// leave gives a place to who has waited longest.
func (p *capacity) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
}

// pass does what leave does, under the lock.
func (p *capacity) pass() {
	next := p.first
	if next == nil {
		p.serving--
		return
	}
	p.remove(next)
	next.served = true
	next.peer.wake()
}

func (p *capacity) remove(t *turn) {
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
