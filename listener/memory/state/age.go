package state

import (
	"sync"
	"time"
)

// ages holds the changes to a set in the order in which they were made, so that the oldest can be
// dropped. It may also contain changes that have since been replaced or undone; their stamps show
// this.
type ages struct {
	mu    sync.Mutex
	start time.Time
	queue []age
	head  int // index of the first entry in the queue; the entries before it are done
}

type age struct {
	part  *Part
	seq   uint64
	stamp uint32
	at    uint32 // in ticks since start, rounded up
}

// tick is the unit of ages. Rounding to ticks delays the end of a change by at most one tick, and
// never makes it earlier.
const tick = 100 * time.Millisecond

// add records a change. The part must be locked.
func (a *ages) add(p *Part, seq uint64, stamp uint32, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.compact(p.set)
	if a.start.IsZero() {
		a.start = now
	}
	a.queue = append(a.queue, age{p, seq, stamp, uint32(max(0, (now.Sub(a.start)+tick-1)/tick))})
}

// clear drops all entries.
func (a *ages) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue, a.head = nil, 0
}

// next removes the oldest entries, all of one part, whose changes were made before a time. It
// appends them to the slice to, up to a length of most.
func (a *ages) next(to []age, before time.Time, most int) []age {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(to) < most && a.head < len(a.queue) {
		first := a.queue[a.head]
		if !a.start.Add(time.Duration(first.at)*tick).Before(before) || len(to) > 0 && first.part != to[0].part {
			break
		}
		to = append(to, first)
		a.queue[a.head] = age{}
		a.head++
	}
	if a.head > 64 && a.head > len(a.queue)/2 {
		n := copy(a.queue, a.queue[a.head:])
		clear(a.queue[n:])
		a.queue, a.head = a.queue[:n], 0
	}
	return to
}

// compact drops entries that are out of date once they are the majority, and also drops repeated
// entries, because become adds all changes to a part once more.
func (a *ages) compact(s *Set) {
	if int64(len(a.queue)-a.head) < 2*(s.rows.Load()+s.parts.Load())+1024 { // a part has one for the rows taken
		return
	}
	kept := a.queue[:0]
	known := map[age]struct{}{}
	for _, e := range a.queue[a.head:] {
		one := age{part: e.part, seq: e.seq}
		if _, again := known[one]; !again && e.holds(e.part.now.Load()) {
			known[one] = struct{}{}
			kept = append(kept, e)
		}
	}
	clear(a.queue[len(kept):])
	a.queue, a.head = kept, 0
}

// holds reports whether the change of an entry has not been replaced or undone in a version.
func (e age) holds(v *version) bool {
	if e.seq == takes {
		return v.free != nil && v.lastTake == e.stamp
	}
	r := v.rows.get(e.seq)
	return r != nil && r.stamp == e.stamp
}

// aging reports whether the order in which changes are made matters.
func (s *Set) aging() bool {
	o := s.options.Load()
	return o.Oldest || o.TTL > 0
}

// atOnce is the maximum number of changes that are undone in one version.
const atOnce = 64

// giveUp undoes the oldest changes to one part that were made before a time, and returns their
// number. more is false if there were no entries. Entries that are out of date are only removed.
func (s *Set) giveUp(before time.Time, most int) (undone int, more bool) {
	var room [atOnce]age
	all := s.ages.next(room[:0], before, most)
	if len(all) == 0 {
		return 0, false
	}
	p := all[0].part
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, true
	}
	v := p.now.Load().edit(most > 1)
	for _, e := range all {
		switch {
		case !e.holds(v):
		case e.seq == takes:
			v.free = nil
			undone++
		default:
			undone += v.giveUp(v.rows.get(e.seq))
		}
	}
	if undone > 0 {
		p.publish(v)
		p.tidy()
	}
	return undone, true
}

// makeRoom undoes the oldest changes until the limits are met, if Oldest is set. In a large set it
// undoes some more, so that not every change needs to make room.
func (s *Set) makeRoom() {
	for s.options.Load().Oldest && s.full() {
		undone, more := s.giveUp(time.Now().Add(time.Hour), int(min(max(1, s.rows.Load()/atOnce), atOnce)))
		if !more {
			return
		}
		s.given.Add(int64(undone))
	}
}

// full reports whether the set has more changes than the limits allow.
func (s *Set) full() bool {
	limit := s.options.Load().Limit
	return limit.Rows > 0 && s.rows.Load() > limit.Rows ||
		limit.Memory > 0 && s.bytes.Load() > limit.Memory ||
		s.store.limit > 0 && s.store.bytes.Load() > s.store.limit
}

// Expire undoes changes that are older than the TTL of their set. It must be called about once a
// second.
func (s *Store) Expire(now time.Time) {
	for _, set := range s.Sets() {
		ttl := set.options.Load().TTL
		for more := ttl > 0; more; {
			_, more = set.giveUp(now.Add(-ttl), atOnce)
		}
	}
}

// exceeds reports whether additional changes would exceed the limits. Changes that take no room
// never do.
func (s *Set) exceeds(rows, bytes int64) bool {
	limit := s.options.Load().Limit
	return rows > 0 && limit.Rows > 0 && s.rows.Load()+rows > limit.Rows ||
		bytes > 0 && limit.Memory > 0 && s.bytes.Load()+bytes > limit.Memory ||
		bytes > 0 && s.store.limit > 0 && s.store.bytes.Load()+bytes > s.store.limit
}
