package dispatcher

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// mailbox holds messages for the actor until it takes them, in batches. Putting one in never
// waits for the actor.
type mailbox struct {
	mu       sync.Mutex // guards what follows
	accepted []arrival
	finished []result
	asked    []func()

	// alarm is when the actor will wake up by itself, on the queue's clock; awake if it is about
	// to look. Only a message that is due earlier has to wake it.
	alarm atomic.Int64
	bell  chan struct{}
}

// arrival is a delivery that was accepted.
type arrival struct {
	Delivery
	due time.Duration // on the queue's clock
}

const awake = math.MinInt64

// manyArrivals wakes the actor before its alarm: so many take less memory in its ledger.
const manyArrivals = 1 << 12

// put leaves a delivery.
func (m *mailbox) put(a arrival) {
	m.mu.Lock()
	m.accepted = append(m.accepted, a)
	n := len(m.accepted)
	m.mu.Unlock()
	if int64(a.due) < m.alarm.Load() || n%manyArrivals == 0 {
		m.call()
	}
}

// finish leaves the result of an attempt.
func (m *mailbox) finish(r result) {
	m.mu.Lock()
	m.finished = append(m.finished, r)
	m.mu.Unlock()
	if m.alarm.Load() != awake {
		m.call()
	}
}

// ask leaves a question, which the actor calls.
func (m *mailbox) ask(question func()) {
	m.mu.Lock()
	m.asked = append(m.asked, question)
	m.mu.Unlock()
	m.call()
}

// call wakes the actor.
func (m *mailbox) call() {
	select {
	case m.bell <- struct{}{}:
	default: // it has been rung already
	}
}

// batch is the content of a mailbox.
type batch struct {
	accepted []arrival
	finished []result
	asked    []func()
}

// keptBatch is the largest batch whose memory is used again.
const keptBatch = 1 << 14

// empty takes everything out and leaves the memory of an earlier batch in its place.
func (m *mailbox) empty(b *batch) {
	if cap(b.accepted) > keptBatch {
		b.accepted = nil
	}
	clear(b.accepted)
	clear(b.finished)
	m.mu.Lock()
	defer m.mu.Unlock()
	b.accepted, m.accepted = m.accepted, b.accepted[:0]
	b.finished, m.finished = m.finished, b.finished[:0]
	b.asked, m.asked = m.asked, nil
}

// sleep waits until the alarm, or until it is called. A message that was put in after the
// mailbox was emptied either sees the alarm, or is seen here.
func (m *mailbox) sleep(timer *time.Timer, alarm time.Duration, clock func() time.Duration) {
	m.alarm.Store(int64(alarm))
	defer m.alarm.Store(awake)
	if m.urgent(alarm) {
		return
	}
	wait := time.Duration(math.MaxInt64)
	if alarm < math.MaxInt64 {
		wait = alarm - clock()
	}
	if wait <= 0 {
		return
	}
	timer.Reset(wait)
	select {
	case <-timer.C:
	case <-m.bell:
		timer.Stop()
	}
}

// urgent reports whether the mailbox has a message that cannot wait for the alarm.
func (m *mailbox) urgent(alarm time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.accepted {
		if m.accepted[i].due < alarm {
			return true
		}
	}
	return len(m.finished) > 0 || len(m.asked) > 0 || len(m.accepted) >= manyArrivals
}
