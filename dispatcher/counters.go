package dispatcher

import (
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

// Counters counts the deliveries that were accepted in a period, whenever they end. The zero value is
// ready to use.
type Counters struct {
	accepted, delivered, dead, dropped, refused atomic.Int64

	lag histogram.Histogram
}

// Counts is a reading of Counters.
type Counts struct {
	Accepted  int64
	Delivered int64
	Dead      int64
	Pending   int64
	Refused   int64
	Lag       histogram.Snapshot // as in Stats
}

// Stats reads the counters.
func (t *Counters) Stats() Counts {
	s := Counts{Delivered: t.delivered.Load(), Dead: t.dead.Load(), Refused: t.refused.Load()}
	dropped := t.dropped.Load()
	s.Accepted = t.accepted.Load() // last, so that nothing has ended before it was accepted
	s.Pending = s.Accepted - s.Delivered - s.Dead - dropped
	t.lag.Read(&s.Lag)
	return s
}

// Unsendable gives a webhook up that could not become a delivery, because of err.
func (q *Queue) Unsendable(w *Webhook, err error) {
	q.unsendable.Add(1)
	t := q.counters.Load()
	t.accepted.Add(1)
	t.dead.Add(1)
	q.mail.ask(func() { q.actor.giveUp(w, nil, "", (&result{err: err}).reason()) })
}

// Begin makes new counters, which count the deliveries that are accepted from now on until the next
// call.
func (q *Queue) Begin() *Counters {
	t := new(Counters)
	q.counters.Store(t)
	return t
}

// Stats counts the deliveries of a queue.
type Stats struct {
	Pending  int64 `json:"pending" doc:"webhooks that are waiting or being sent"` // including Due and InFlight
	Due      int64 `json:"due" doc:"pending webhooks that are due and wait for a worker"`
	InFlight int64 `json:"in_flight" doc:"pending webhooks that are being sent"`

	Delivered int64 `json:"delivered" doc:"webhooks that were delivered"` // with a response status below 400
	Retried   int64 `json:"retried" doc:"attempts after the first"`
	Dead      int64 `json:"dead" doc:"webhooks that were given up after their last attempt"`
	Cancelled int64 `json:"cancelled" doc:"webhooks that were cancelled"`
	Refused   int64 `json:"refused" doc:"webhooks that were not accepted because too many were pending"` // or the queue was closed, or the store refused them
	Abandoned int64 `json:"-"`                                                                           // left when a queue without a store was closed
	Kept      int64 `json:"-"`                                                                           // left in the store when the queue was closed
	Lost      int64 `json:"lost,omitempty" doc:"minimum number of records of the webhook store that could not be read"`
	Restored  int64 `json:"restored,omitempty" doc:"webhooks that were read from the store, left there by an earlier process"`

	// Lag is how late first attempts were sent: the time from when they were due until there was a
	// connection to write the request to. If the target could not be reached, the time until the
	// attempt began counts.
	Lag histogram.Snapshot `json:"-"`
	// Oldest is the longest time that a delivery or retry that is due has been waiting for a
	// worker; 0 if none is waiting.
	Oldest time.Duration `json:"-"`
}
