package dispatcher

import (
	"sync/atomic"

	"mockserver/internal/histogram"
)

// Counters counts the deliveries that were accepted in a period, whenever they end. The zero value is
// ready to use.
type Counters struct {
	accepted, delivered, dead, dropped, refused, unstored atomic.Int64

	lag histogram.Histogram
}

// Counts is a reading of Counters.
type Counts struct {
	Accepted  int64
	Delivered int64
	Dead      int64
	Pending   int64
	Refused   int64
	Unstored  int64
	Lag       histogram.Snapshot // as in Stats
}

// Stats reads the counters.
func (t *Counters) Stats() Counts {
	s := Counts{Delivered: t.delivered.Load(), Dead: t.dead.Load(), Refused: t.refused.Load(), Unstored: t.unstored.Load()}
	dropped := t.dropped.Load()
	s.Accepted = t.accepted.Load() // last, so that nothing has ended before it was accepted
	s.Pending = s.Accepted - s.Delivered - s.Dead - dropped
	t.lag.Read(&s.Lag)
	return s
}

// Unsendable counts a webhook that could not become a delivery as given up.
func (q *Queue) Unsendable() {
	q.unsendable.Add(1)
	t := q.counters.Load()
	t.accepted.Add(1)
	t.dead.Add(1)
}

// Begin makes new counters, which count the deliveries that are accepted from now on until the next
// call.
func (q *Queue) Begin() *Counters {
	t := new(Counters)
	q.counters.Store(t)
	return t
}
