package dispatcher

import (
	"time"

	"mockserver/internal/histogram"
)

// Stats counts the deliveries of a queue.
type Stats struct {
	Pending  int64 // accepted and not finished, including Due and InFlight
	Due      int64 // waiting for a worker, first attempts and others
	InFlight int64 // being sent

	Delivered int64 // answered with a status below 400
	Retried   int64 // attempts after which another was to follow
	Dead      int64 // failed for good
	Cancelled int64 // removed by Cancel
	Refused   int64 // not accepted: too many were pending, or the queue was closed
	Abandoned int64 // left when the queue was closed without a store
	Kept      int64 // left in the store when the queue was closed
	Lost      int64 // records, at least, that could not be read when the store was opened

	// Lag is how late first attempts were sent: from when they were due until there was a
	// connection to write the request to. One whose target could not be reached counts until
	// it was tried.
	Lag histogram.Snapshot
	// Oldest is for how long the delivery, or the next attempt of one, has been due that has
	// waited longest for a worker; 0 for none.
	Oldest time.Duration
}

// Stats asks the actor. After Close it returns the final stats.
func (q *Queue) Stats() Stats {
	var s Stats
	if !q.ask(func() { s = q.snapshot() }) {
		s = q.snapshot()
	}
	return s
}

// ask lets the actor call a question, waits for that, and reports whether it happened. After
// its end nobody owns the state of the actor.
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
	case <-answered: // it was its last act
		return true
	default:
		return false
	}
}

// snapshot returns the current stats. Only the actor may call it, until its end.
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
	return s
}
