package dispatcher

import "mockserver/internal/histogram"

// Stats is what became of the deliveries of a queue.
type Stats struct {
	Pending  int64 // accepted and not finished, those of Due and InFlight among them
	Due      int64 // that wait for a worker
	InFlight int64 // that are being sent

	Delivered int64 // answered with a status below 400
	Retried   int64 // attempts after which another was to follow
	Dead      int64 // failed for good
	Cancelled int64 // taken back by Cancel
	Refused   int64 // not accepted: too many were pending, or the queue was closed
	Abandoned int64 // left when the queue was closed without a store
	Kept      int64 // left in the store when the queue was closed
	Lost      int64 // records, at least, that could not be read of the store when it was opened

	Lag histogram.Snapshot // how late first attempts were sent: sent minus due
}

// Stats asks the actor. After Close it tells how things ended.
func (q *Queue) Stats() Stats {
	var s Stats
	if !q.ask(func() { s = q.snapshot() }) {
		s = q.snapshot()
	}
	return s
}

// ask has the actor call a question and waits for that. It reports whether it did:
// after the end nobody owns what the actor had.
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

// snapshot is the stats as they stand; for the actor, or after its end.
func (q *Queue) snapshot() Stats {
	s := q.actor.stats
	q.actor.lag.Read(&s.Lag)
	s.Pending = q.pending.Load()
	s.Refused = q.refused.Load()
	return s
}
