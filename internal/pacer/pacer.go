// Package pacer calls what waits when it is due, such as a response that waits for its latency.
// Whatever waits needs neither a goroutine nor a timer of its own.
package pacer

import (
	"math"
	"runtime"
	"sync"
	"time"

	"mockserver/internal/alarm"
	"mockserver/internal/wheel"
)

// Waiter is something that waits.
type Waiter interface {
	// Due is called once the time has come, by a goroutine on which others wait: it must not block. What it returns,
	// unless nil, is flushed once others that are due have been called.
	Due() Flusher
}

// Flusher sends what several Waiters have made, without blocking.
type Flusher interface{ Flush() }

// Entry is a place in a pacer for one Waiter at a time. Its zero value waits for nothing.
type Entry struct {
	shard  *shard // that it was last added to; nil before
	waiter Waiter
	id     uint32 // 0 while it does not wait; the lock of the shard guards it
}

// Pacer keeps entries until they are due. It has a part for each processor, each with a timing wheel and,
// from its first entry on, an alarm and a goroutine. A nil Pacer has no entries.
type Pacer struct {
	base   time.Time
	shards []shard
	ended  sync.WaitGroup
	alarm  func() *alarm.Alarm
}

// shard is one part of a pacer.
type shard struct {
	p *Pacer

	mu      sync.Mutex // guards the fields below
	wheel   wheel.Wheel
	entries wheel.Paged[*Entry] // by id; nil for one that only wakes the runtime
	used    uint32              // the largest id ever used
	free    []uint32            // ids up to it that are not in use
	armed   int64               // the tick that the alarm is set to; never if it is not set
	alarm   *alarm.Alarm        // nil before the first entry
	over    bool                // the pacer is closed
	_       [128]byte           // keeps two shards in separate cache lines
}

// tick is the unit that times are rounded up to: one wake-up serves all entries within it.
const tick = 50 * time.Microsecond

// atOnce is how many Waiters are called before what they have made is sent.
const atOnce = 64

// never is a tick that does not come.
const never = math.MaxInt64

// New returns a pacer that has no goroutine yet.
func New() *Pacer { return newPacer(runtime.GOMAXPROCS(0), alarm.New) }

func newPacer(shards int, alarm func() *alarm.Alarm) *Pacer {
	p := &Pacer{base: time.Now(), shards: make([]shard, shards), alarm: alarm}
	for i := range p.shards {
		p.shards[i].p, p.shards[i].armed = p, never
	}
	return p
}

// Add makes w wait in e until t, instead of until the time before if e is in use. Entries with the same lane are
// served by the same goroutine, and e must not be in use in another one. In a pacer that is closed, they wait until
// they are canceled.
func (p *Pacer) Add(e *Entry, w Waiter, t time.Time, lane uint32) {
	s := &p.shards[lane%uint32(len(p.shards))]
	e.shard, e.waiter = s, w
	s.add(e, t)
}

// Wake makes the timers of the runtime that are due at t fire punctually: by itself, the runtime waits
// for them in whole milliseconds.
func (p *Pacer) Wake(t time.Time) {
	if p != nil {
		p.shards[0].add(nil, t)
	}
}

// Cancel ends the wait of e, and reports whether it did. Otherwise e does not wait, or its Due is being
// called.
func Cancel(e *Entry) bool {
	s := e.shard
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.id == 0 {
		return false
	}
	s.wheel.Cancel(e.id)
	s.release(e.id)
	return true
}

// Close stops the goroutines, and returns when they have stopped.
func (p *Pacer) Close() {
	if p == nil {
		return
	}
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		if s.over = true; s.alarm != nil {
			s.alarm.Close() // it ends the goroutine
		}
		s.mu.Unlock()
	}
	p.ended.Wait()
}

func (s *shard) add(e *Entry, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id uint32
	if last := len(s.free) - 1; e != nil && e.id != 0 {
		id = e.id
		s.wheel.Cancel(id)
	} else if last >= 0 {
		id, s.free = s.free[last], s.free[:last]
	} else {
		s.used++
		id = s.used
	}
	if *s.entries.Grow(id) = e; e != nil {
		e.id = id
	}
	due := int64((t.Sub(s.p.base) + tick - 1) / tick)
	s.wheel.Add(due, id)
	if s.over {
		return
	}
	if s.alarm == nil {
		s.alarm = s.p.alarm()
		s.p.ended.Go(s.run)
	}
	if due < s.armed {
		s.arm(due)
	}
}

// release makes an id free again.
func (s *shard) release(id uint32) {
	e := s.entries.At(id)
	if *e != nil {
		(*e).id = 0
		*e = nil
	}
	s.free = append(s.free, id)
}

// arm sets the alarm. If its time has already passed, it goes off at once.
func (s *shard) arm(at int64) {
	s.armed = at
	s.alarm.Set(time.Duration(at)*tick - time.Since(s.p.base))
}

// run calls what is due, until the pacer is closed.
func (s *shard) run() {
	var due [atOnce]Waiter
	made := make([]Flusher, 0, atOnce)
	for s.alarm.Wait() {
		for n := s.take(due[:]); n > 0; n = s.take(due[:]) {
			for _, w := range due[:n] {
				if f := w.Due(); f != nil {
					made = append(made, f)
				}
			}
			for _, f := range made {
				f.Flush()
			}
			clear(due[:n])
			clear(made)
			made = made[:0]
		}
	}
}

// take removes Waiters that are due, as many as there is room for. If there are none, it sets the alarm.
func (s *shard) take(due []Waiter) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for arrived := false; n < len(due); {
		if id := s.wheel.Take(); id != 0 {
			if e := *s.entries.At(id); e != nil {
				due[n] = e.waiter
				n++
			}
			s.release(id)
		} else if arrived {
			break
		} else {
			arrived = s.wheel.Advance(int64(time.Since(s.p.base)/tick), 256)
		}
	}
	if n > 0 {
		return n
	}
	s.armed = never
	if at, ok := s.wheel.Next(); ok {
		s.arm(at)
	}
	return 0
}
