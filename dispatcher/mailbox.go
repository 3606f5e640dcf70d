package dispatcher

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// mailbox stores messages for the actor, which takes them out in batches. Adding a message never
// waits for the actor.
type mailbox struct {
	mu    sync.Mutex // guards batch
	batch            // what the actor has not taken out yet

	// alarm is when the actor will wake up by itself, on the queue's clock; its value is awake if
	// the actor is about to check the mailbox. An arrival that is due later need not wake the
	// actor; see manyArrivals for the exception.
	alarm atomic.Int64
	bell  chan struct{}
}

const awake = math.MinInt64

// manyArrivals is the number of arrivals that wakes the actor before its alarm, since deliveries
// take less memory in its ledger than in the mailbox.
const manyArrivals = 1 << 12

// put adds a delivery.
func (m *mailbox) put(a arrival) {
	m.mu.Lock()
	m.accepted = append(m.accepted, a)
	n := len(m.accepted)
	m.mu.Unlock()
	if int64(a.due) < m.alarm.Load() || n%manyArrivals == 0 {
		m.call()
	}
}

// finish adds the result of an attempt.
func (m *mailbox) finish(r result) {
	m.mu.Lock()
	m.finished = append(m.finished, r)
	m.mu.Unlock()
	if m.alarm.Load() != awake {
		m.call()
	}
}

// ask adds a function, which the actor calls.
func (m *mailbox) ask(question func()) {
	m.mu.Lock()
	m.questions = append(m.questions, question)
	m.mu.Unlock()
	m.call()
}

// call wakes the actor.
func (m *mailbox) call() {
	select {
	case m.bell <- struct{}{}:
	default: // the actor has already been called
	}
}

// batch is the content of a mailbox.
type batch struct {
	accepted  []arrival
	finished  []result
	questions []func()
}

// keptBatch is the size of the largest batch whose memory is reused.
const keptBatch = 1 << 14

// empty moves all messages to b, and reuses the memory of the earlier batch for the mailbox.
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
	b.questions, m.questions = m.questions, nil
}

// sleep waits until the alarm, or until call is called. If a message was added after the mailbox
// was emptied, either its sender sees the alarm, or sleep sees the message.
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

// urgent reports whether the mailbox contains a message that cannot wait for the alarm.
func (m *mailbox) urgent(alarm time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.accepted {
		if m.accepted[i].due < alarm {
			return true
		}
	}
	return len(m.finished) > 0 || len(m.questions) > 0 || len(m.accepted) >= manyArrivals
}
