package record

import (
	"slices"
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

// StreamCounts contains what was counted of the streamed replies of an endpoint.
type StreamCounts struct {
	Opened uint64            `json:"streams,omitempty" doc:"streams that have begun"`
	Ends   map[string]uint64 `json:"stream_ends,omitempty" doc:"streams that have ended, by how they ended"`
	Items  uint64            `json:"stream_items,omitempty" doc:"items of streams that were sent"`
	Bytes  uint64            `json:"stream_bytes,omitempty" doc:"bytes of these items"` // without what frames them
	// Clock is the time of the clock that streams share from item to item, and Wall the time on the wall, in ns.
	Clock uint64 `json:"stream_clock,omitempty" doc:"time from item to item by the clocks of shared rates, in nanoseconds"`
	Wall  uint64 `json:"stream_wall,omitempty" doc:"the same time on the wall"`
	// Factor is that by which the clock runs slower now; 0 without one.
	Factor float64 `json:"-"`

	First    histogram.Snapshot `json:"stream_first,omitzero" doc:"the time to the first item, as delivered"`
	Gap      histogram.Snapshot `json:"stream_gap,omitzero" doc:"the time from an item to the next one, as delivered"`
	GapError histogram.Snapshot `json:"stream_gap_error,omitzero" doc:"how late later items were"`
	Blocked  histogram.Snapshot `json:"stream_blocked,omitzero" doc:"how long items waited for a client that did not read, of those that had to"`
}

// Open returns how many streams are open.
func (c *StreamCounts) Open() uint64 {
	open := c.Opened
	for _, n := range c.Ends {
		open -= min(n, open)
	}
	return open
}

// Stretch returns by which factor shared rates have made streams slower, on average; 0 if none has a shared rate.
func (c *StreamCounts) Stretch() float64 {
	if c.Clock == 0 {
		return 0
	}
	return float64(c.Wall) / float64(c.Clock)
}

// Stretch is the same for one stream.
func (s *Streamed) Stretch() float64 {
	return (&StreamCounts{Clock: uint64(s.Clock), Wall: uint64(s.Wall)}).Stretch()
}

func (c *StreamCounts) durations() [streamTimes]*histogram.Snapshot {
	return [...]*histogram.Snapshot{&c.First, &c.Gap, &c.GapError, &c.Blocked}
}

// StreamShard is the part of the counters of streams that some connections share.
type StreamShard struct {
	opened, items, bytes, clock, wall atomic.Uint64

	ends  [len(streamEnds)]atomic.Uint64
	times [streamTimes]histogram.Histogram // in the order of StreamCounts.durations
}

// streamTimes is the number of distributions.
const streamTimes = 4

// streamEnds lists the ways in which a stream ends.
var streamEnds = [...]string{EndComplete, EndClient, EndFault, EndMaxDuration, EndStopped, EndUpstream, EndBroken}

// Item is an item of a stream, as it was sent.
type Item struct {
	Bytes   int
	First   time.Duration // from the arrival of the request, for a first item; otherwise -1
	Gap     time.Duration // from the item before; -1 if the item has no time of its own
	Late    time.Duration // after it was due, without Blocked, or how long it took to make; -1 if neither counts
	Blocked time.Duration // the wait for the client to read
}

// Stream returns where the streams of a connection are counted.
func (t *Counters) Stream(shard uint32) *StreamShard { return t.At(shard).stream() }

// Open counts the beginning of a stream.
func (s *StreamShard) Open() { s.opened.Add(1) }

// Add counts an item.
func (s *StreamShard) Add(i *Item) {
	for n, d := range [...]time.Duration{i.First, i.Gap, i.Late} {
		if d >= 0 {
			s.times[n].Add(d)
		}
	}
	if i.Blocked > 0 {
		s.times[streamTimes-1].Add(i.Blocked)
	}
	s.bytes.Add(uint64(i.Bytes))
	s.items.Add(1) // last, see Shard.stamp
}

// Stretch counts a time from one item to the next, by a shared clock and on the wall.
func (s *StreamShard) Stretch(clock, wall time.Duration) {
	s.clock.Add(uint64(max(clock, 0)))
	s.wall.Add(uint64(max(wall, 0)))
}

// End counts the end of a stream.
func (s *StreamShard) End(end string) { s.ends[max(slices.Index(streamEnds[:], end), 0)].Add(1) }

// Factor is a clock that streams share.
type Factor interface{ Factor() float64 }

// Follow says which clock the streams of an endpoint share.
func (t *Counters) Follow(clock Factor) {
	if t.clock.Load() != clock {
		t.clock.Store(clock)
	}
}

// factor returns by which factor the clock of the streams is slower now; 0 if there is none.
func (t *Counters) factor() float64 {
	if clock, _ := t.clock.Load().(Factor); clock != nil {
		return clock.Factor()
	}
	return 0
}

// stream returns the counters of streams.
func (c *Shard) stream() *StreamShard {
	s := c.streams.Load()
	if s == nil {
		c.streams.CompareAndSwap(nil, new(StreamShard))
		s = c.streams.Load()
	}
	return s
}

// stamp returns a different number once anything has been counted.
func (s *StreamShard) stamp() uint64 {
	if s == nil {
		return 0
	}
	n := s.opened.Load() + s.items.Load()
	for i := range s.ends {
		n += s.ends[i].Load()
	}
	return n
}

func (s *StreamShard) plain() [5]*atomic.Uint64 {
	return [...]*atomic.Uint64{&s.opened, &s.items, &s.bytes, &s.clock, &s.wall}
}

// plain returns the single numbers in the order of StreamShard.plain.
func (c *StreamCounts) plain() [5]*uint64 {
	return [...]*uint64{&c.Opened, &c.Items, &c.Bytes, &c.Clock, &c.Wall}
}

// merge adds the counters of m, which no longer change.
func (s *StreamShard) merge(m *StreamShard) {
	for i, n := range m.plain() {
		s.plain()[i].Add(n.Load())
	}
	for i := range m.ends {
		s.ends[i].Add(m.ends[i].Load())
	}
	for i := range m.times {
		s.times[i].Merge(&m.times[i])
	}
}

// read adds the counters to a total.
func (s *StreamShard) read(total *StreamCounts) {
	for i, end := range streamEnds {
		if n := s.ends[i].Load(); n > 0 { // before those that were opened, so that none is negative
			total.end(end, n)
		}
	}
	for i, n := range s.plain() {
		*total.plain()[i] += n.Load()
	}
	for i, into := range total.durations() {
		s.times[i].Read(into)
	}
}

func (c *StreamCounts) end(end string, n uint64) {
	if c.Ends == nil {
		c.Ends = map[string]uint64{}
	}
	c.Ends[end] += n
}
