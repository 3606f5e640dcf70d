package upstream

import (
	"container/list"
	"sync"
	"time"
)

// Waiter is the connection of a request that may have to wait.
type Waiter interface {
	// Wait waits for Wake, or for another event, and reports whether the client left.
	Wait() (left bool)
	Wake() // ends the current or next Wait; may be called from any goroutine
}

// places limits how many requests an upstream has at once. Further requests wait, in order of
// arrival.
type places struct {
	mu    sync.Mutex // guards the fields below
	free  int        // 0 while a request waits
	queue list.List  // of *turn
}

// turn is a request that waits.
type turn struct {
	waiter Waiter
	served bool          // it has a place
	at     *list.Element // nil once the request no longer waits
}

// blocking is the waiter of a request that has no Waiter.
type blocking chan struct{}

// Wait waits for Wake.
func (b blocking) Wait() bool {
	<-b
	return false
}

// Wake ends Wait.
func (b blocking) Wake() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// enter takes a place, waiting for one until a time if necessary, and reports whether it waited. If
// it returns no error, leave must be called.
func (p *places) enter(w Waiter, until time.Time) (waited bool, err error) {
	t := p.arrive(w)
	if t == nil {
		return false, nil
	}
	timer := time.AfterFunc(time.Until(until), func() { p.wake(t) })
	defer timer.Stop()
	for {
		left := t.waiter.Wait()
		if over, err := p.look(t, left, until); over {
			return true, err
		}
	}
}

// arrive takes a place and returns nil, or else returns a turn at the end of the queue.
func (p *places) arrive(w Waiter) *turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free > 0 {
		p.free--
		return nil
	}
	if w == nil {
		w = make(blocking, 1)
	}
	t := &turn{waiter: w}
	t.at = p.queue.PushBack(t)
	return t
}

// look reports whether the wait is over. err says why there is no place. If the client left after
// the request was given a place, look passes the place on.
func (p *places) look(t *turn, left bool, until time.Time) (over bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.served && left:
		p.pass()
		return true, ErrLeft
	case t.served:
		return true, nil
	case left:
		p.remove(t)
		return true, ErrLeft
	case !time.Now().Before(until):
		p.remove(t)
		return true, errNoPlace
	}
	return false, nil
}

// leave gives a place back: to the request that has waited longest, if any waits.
func (p *places) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
}

func (p *places) pass() {
	first := p.queue.Front()
	if first == nil {
		p.free++
		return
	}
	next := first.Value.(*turn)
	next.served = true
	next.waiter.Wake()
	p.remove(next)
}

// wake wakes the request of a turn if it still waits. A Waiter whose request no longer waits may
// already serve another request.
func (p *places) wake(t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.at != nil {
		t.waiter.Wake()
	}
}

func (p *places) remove(t *turn) {
	p.queue.Remove(t.at)
	t.at = nil
}
