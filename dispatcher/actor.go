package dispatcher

import (
	"math/rand/v2"
	"time"
)

// run is the goroutine of the actor.
func (q *Queue) run() {
	defer close(q.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	a := &q.actor
	for {
		// These must be read before the mailbox is emptied: if the queue is closed, the mailbox
		// then contains everything that was started before.
		a.closing, a.until = q.closed.Load(), time.Duration(q.until.Load())
		q.mail.empty(&a.batch)
		q.take(&a.batch)
		now := q.clock()
		arrived := a.wheel.Advance(int64(now/tick), stride)
		q.sort()
		q.assign()
		if q.over(now) {
			q.end()
			return
		}
		if arrived {
			q.mail.sleep(timer, q.alarm(), q.clock)
		}
	}
}

// alarm returns when the actor must wake up by itself.
func (q *Queue) alarm() time.Duration {
	at := q.actor.until
	if next, ok := q.actor.wheel.Next(); ok && next < int64(at/tick) {
		at = time.Duration(next) * tick
	}
	return at
}

// take processes the messages of the mailbox.
func (q *Queue) take(b *batch) {
	a := &q.actor
	for i := range b.finished {
		q.finished(&b.finished[i])
	}
	for i := range b.accepted {
		arrival := &b.accepted[i]
		id, err := a.ledger.add(arrival)
		if err != nil {
			a.stats.Dead++
			arrival.counters.dead.Add(1)
			a.giveUp(arrival.Webhook, arrival.parts, "", (&result{err: err}).reason())
			q.forget(arrival.id)
			go q.failed(Failure{Webhook: arrival.Webhook, Attempt: 1, Final: true, Err: err}) // the callback may block
			continue
		}
		a.wheel.Add(tickOf(arrival.due), id)
	}
	for _, question := range b.questions {
		question()
	}
}

// tickOf returns the first tick that is not before a time.
func tickOf(at time.Duration) int64 {
	n := int64(at / tick)
	if at%tick > 0 {
		n++
	}
	return n
}

// sort appends the deliveries that are due to the ready deliveries of their targets.
func (q *Queue) sort() {
	a := &q.actor
	for id := a.wheel.Take(); id != 0; id = a.wheel.Take() {
		e, _, t := a.ledger.get(id)
		e.state = ready
		t.push(id, &a.ledger.entries)
		a.stats.Due++
		if !t.queued {
			a.round.push(t)
		}
	}
}

// assign assigns ready deliveries to free workers, one from each target in turn.
func (q *Queue) assign() {
	a := &q.actor
	for passed := 0; a.free > 0 && passed < a.round.size; {
		t := a.round.pop()
		if !t.mayTake(a.free) {
			passed++
			a.round.push(t)
			continue
		}
		passed = 0
		q.launch(t)
		if t.ready.first != 0 {
			a.round.push(t)
		}
	}
}

// launch takes the first ready delivery of a target and passes it to a worker. A canceled delivery
// is removed instead.
func (q *Queue) launch(t *target) {
	a := &q.actor
	id := t.pop(&a.ledger.entries)
	e, f, _ := a.ledger.get(id)
	a.stats.Due--
	if e.state == cancelled {
		a.ledger.remove(id)
		return
	}
	a.free--
	t.inFlight++
	a.stats.InFlight++
	e.state = inFlight
	e.attempt++
	q.sender.send(job{entry: id, form: f, parts: e.parts, target: t.name, depth: int(e.depth), attempt: int(e.attempt), due: q.began.Add(e.due), key: e.id})
}

// report passes the result of an attempt to the actor. Workers call it.
func (q *Queue) report(r result) {
	if !r.delivered() && !r.brokenOff {
		q.failed(Failure{Webhook: r.webhook, Attempt: r.attempt, Final: !r.again(), Status: r.status, Err: r.err})
	}
	q.mail.finish(r)
}

// finished processes the result of an attempt: the delivery is done or is retried later. A delivery
// whose attempt was broken off remains pending.
func (q *Queue) finished(r *result) {
	a := &q.actor
	e, f, t := a.ledger.get(r.entry)
	a.free++
	t.inFlight--
	a.stats.InFlight--
	if t.failures++; r.err == nil {
		t.failures = 0
	}
	switch {
	case r.delivered():
		a.stats.Delivered++
		f.counters.delivered.Add(1)
	case r.brokenOff: // it remains pending, to be kept or abandoned
		return
	case r.again():
		a.stats.Retried++
		e.due, e.state = q.clock()+f.Retry.wait(int(e.attempt), r.retryAfter, rand.Float64()), waiting
		a.ledger.failed(r.entry, r.reason())
		a.wheel.Add(tickOf(e.due), r.entry)
		return
	default:
		a.stats.Dead++
		f.counters.dead.Add(1)
		a.giveUp(f.Webhook, e.parts, t.name, r.reason())
	}
	q.forget(e.id)
	a.ledger.remove(r.entry)
}

// forget removes a delivery from the count of pending deliveries and from the store.
func (q *Queue) forget(id uint64) {
	q.pending.Add(-1)
	if q.store != nil {
		q.store.Done(id)
	}
}

// over reports whether the queue is finished: it is closing, and either its end has come, or no
// delivery is in flight, waits for a worker or falls due before its end.
func (q *Queue) over(now time.Duration) bool {
	a := &q.actor
	switch {
	case !a.closing:
		return false
	case now >= a.until:
		return true
	case a.stats.Due > 0 || a.stats.InFlight > 0:
		return false
	}
	next, ok := a.wheel.Next()
	return !ok || next > int64(a.until/tick)
}

// end stops the workers and counts the remaining deliveries.
func (q *Queue) end() {
	a := &q.actor
	q.sender.close()
	q.mail.empty(&a.batch)
	q.take(&a.batch)
	if q.store == nil {
		a.stats.Abandoned = q.pending.Load()
	} else {
		a.stats.Kept = q.pending.Load()
	}
}
