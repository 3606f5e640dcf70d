package dispatcher

import (
	"time"

	"mockserver/internal/histogram"
)

// Stats counts the deliveries of a queue.
type Stats struct {
	Pending  int64 // accepted and not finished, including Due and InFlight
	Due      int64 // waiting for a worker, for the first attempt or another
	InFlight int64 // being sent

	Delivered int64 // delivered with a response status below 400
	Retried   int64 // failed attempts that were to be followed by another
	Dead      int64 // failed for good
	Cancelled int64 // removed by Cancel
	Refused   int64 // not accepted: too many were pending, or the queue was closed
	Abandoned int64 // left in memory alone when the queue was closed
	Kept      int64 // left in the store when the queue was closed, or since another process sends them
	Lost      int64 // minimum number of records that could not be read from the store
	Restored  int64 // came from the store: of this process before, or of another one
	Unstored  int64 // accepted although the store refused them, by Options.Fallback

	// Lag is how late first attempts were sent: from when they were due until there was a
	// connection to write the request to. If the target could not be reached, the time until the
	// connection attempt counts.
	Lag histogram.Snapshot
	// Oldest is how long the delivery, or retry, that has waited longest for a worker has been due;
	// 0 if none is waiting.
	Oldest time.Duration
}

// Stats returns the current stats, which the actor provides. After Close it returns the final
// stats.
func (q *Queue) Stats() Stats {
	var s Stats
	if !q.ask(func() { s = q.snapshot() }) {
		s = q.snapshot()
	}
	return s
}

// ask has the actor call question, waits for the call, and reports whether it happened. After the
// actor has ended, nothing owns its state.
func (q *Queue) ask(question func()) bool {
	answered := make(chan struct{})
	q.mail.ask(func() {
		question()
		close(answered)
	})
	select {
	case <-answered:
		return true
	case <-q.ended:
	}
	select {
	case <-answered: // it was the last thing the actor did
		return true
	default:
		return false
	}
}

// snapshot returns the current stats. Until the actor has ended, only the actor may call it.
func (q *Queue) snapshot() Stats {
	s := q.actor.stats
	q.lag.Read(&s.Lag)
	for t, n := q.actor.round.first, 0; n < q.actor.round.size; t, n = t.after, n+1 {
		if first := t.ready.first; first != 0 {
			s.Oldest = max(s.Oldest, q.clock()-q.actor.ledger.entries.at(first).due)
		}
	}
	s.Pending = q.pending.Load()
	s.Refused = q.refused.Load()
	s.Restored = q.restored.count.Load()
	s.Unstored = q.unstored.Load()
	if q.store != nil {
		s.Lost = q.store.Lost() + q.restored.lost.Load()
	}
	return s
}
