package serve

import (
	"time"

	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
)

// moment is when an item was due and when it was sent. Once opens is set, the next item is sent with the first one.
type moment struct {
	due, clock, sent time.Time
	opens            bool
}

// counts returns where the stream is counted; nil if it is not.
func (f *flow) counts() *record.StreamShard {
	c := f.call
	if c.server.Recorder == nil || c.Trace.Counters == nil || c.isHead() || f.stream.Whole {
		return nil
	}
	return c.Trace.Counters.Stream(c.peer.Shard())
}

// isBare reports whether the reply has no items.
func (f *flow) isBare() bool { return f.bare || f.item == nil }

// reach notes that what the latency is for is sent: the first item, or a head without items.
func (f *flow) reach(now, due time.Time) {
	c := f.call
	if c.Trace.Timed = f.rules != nil && !due.Equal(f.begun); c.Trace.Timed {
		c.Trace.Late = max(now.Sub(due), 0)
		f.rules.Late(c.Trace.Late)
	}
}

// hasRoom notes whether the client takes items.
func (f *flow) hasRoom(room bool) {
	switch wasFull := f.full.After(f.roomy); {
	case room && wasFull:
		f.roomy = time.Now()
	case !room && !wasFull:
		f.full = time.Now()
	}
}

// count counts an item that was just made. begin is when the items that are due began to be made.
func (f *flow) count(bytes int, due, begin time.Time) {
	counts := f.counts()
	if counts == nil {
		return
	}
	now := time.Now()
	begin, f.made = latest(begin, f.made), now
	i := record.Item{Bytes: bytes, First: -1, Gap: -1, Late: -1}
	switch before := &f.shown; {
	case f.sent.Items == 1:
		i.First, f.took = now.Sub(f.begun), f.call.took()
		if f.clock != nil {
			f.call.Trace.Counters.Follow(f.clock)
		}
		f.shown = moment{f.pacedAt(), f.due, now, compile.GoesWithNext(f.item)} // by the clock that it has just entered
	case before.opens:
		before.opens = compile.GoesWithNext(f.item)
	case f.stream.IsTimed(f.item):
		if f.roomy.After(due) {
			i.Blocked = f.roomy.Sub(latest(due, f.full))
		}
		i.Gap, i.Late = now.Sub(before.sent), max(now.Sub(due)-i.Blocked, 0)
		if f.clock != nil {
			clock, wall := f.due.Sub(before.clock), f.pacedAt().Sub(before.due)
			counts.Stretch(clock, wall)
			f.sent.Clock, f.sent.Wall = f.sent.Clock+clock, f.sent.Wall+wall
		}
		f.shown = moment{f.pacedAt(), f.due, now, false}
	case f.item.With == "":
		i.Late = now.Sub(begin)
	}
	f.sent.Late, f.sent.Blocked = max(f.sent.Late, i.Late), f.sent.Blocked+i.Blocked
	counts.Add(&i)
}
