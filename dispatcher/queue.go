// Package dispatcher sends webhooks: requests that the server makes some time after it
// answered the request that triggered them.
//
// A Queue is an actor. One goroutine owns the timing wheel and all pending deliveries. Callers pass
// the bytes of a delivery to the actor and continue. Workers of a bounded pool send the deliveries
// that are due and report the results. All communication uses messages:
//
//	queue, err := dispatcher.Open(dispatcher.Options{})
//	delivery := dispatcher.NewDelivery(webhook, time.Minute, 1, parts)
//	err = queue.Accept(&delivery)      // before the response is written
//	queue.Start(delivery, time.Now())  // after it, when its delay begins
//	queue.Close(ctx)                   // sends what falls due before ctx ends
//
// With a store, accepted deliveries survive a crash of the process or the machine and are
// sent at least once. Without one, each attempt is made at most once.
//
// Of the module this package imports only dispatcher/client, dispatcher/outbox and internal packages.
// Which store there is, its caller decides.
package dispatcher

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

// Options of a queue. The zero value is ready to use.
type Options struct {
	MaxPending int // maximum number of pending deliveries; 0 selects a million
	Workers    int // maximum number of concurrent sends; 0 selects 1024
	// Store opens the store of accepted deliveries; nil for none.
	Store func(*slog.Logger) (Store, error)
	// Fallback accepts deliveries that the store refuses, without it; see Stats.Unstored.
	Fallback bool

	Logger *slog.Logger // for messages about the store; nil logs nothing
	// Failed is called for each failed attempt, in the goroutine of a worker. It may be nil.
	Failed func(Failure)
}

// Failure is an attempt that failed.
type Failure struct {
	Webhook *Webhook
	Attempt int   // 1 for the first
	Final   bool  // no other attempt follows
	Status  int   // of the response; 0 if there is none
	Err     error // why there is no response
}

const (
	defaultMaxPending = 1_000_000
	defaultWorkers    = 1024
	// tick is the resolution of the timing wheel.
	tick = time.Millisecond
	// stride is how many entries the wheel moves at most before the actor checks the mailbox again.
	stride = 4096
	// lookAgain is how often the actor asks a store that lets no attempt begin.
	lookAgain = 50 * time.Millisecond
)

// Queue stores pending deliveries and sends them when they are due. Its methods may be called from
// any goroutine.
type Queue struct {
	log        *slog.Logger
	began      time.Time // start of the queue's clock
	maxPending int64
	mail       mailbox
	closed     atomic.Bool
	pending    atomic.Int64 // accepted and not yet finished
	refused    atomic.Int64
	sender     *sender
	lag        histogram.Histogram
	failed     func(Failure)
	store      Store // nil if there is none
	fallback   bool
	unstored   atomic.Int64
	inMemory   atomic.Int64 // pending ones that the store refused
	restored   restored
	until      atomic.Int64  // when the queue ends, on its clock; the maximum until it is closed
	ended      chan struct{} // closed when the actor has ended
	shut       chan struct{} // closed when everything has ended

	actor actor
}

// actor is the state that only the queue's goroutine uses.
type actor struct {
	wheel   wheel
	ledger  ledger
	round   round // the targets that have ready deliveries
	free    int   // number of free workers
	stats   Stats // except the lag
	batch   batch
	until   time.Duration // when the queue ends, if closing; otherwise the maximum
	closing bool
	parked  []uint32 // due deliveries that the store lets nobody send now
}

// Open starts a queue.
func Open(opts Options) (*Queue, error) {
	if opts.MaxPending == 0 {
		opts.MaxPending = defaultMaxPending
	}
	if opts.Workers == 0 {
		opts.Workers = defaultWorkers
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	q := &Queue{
		log:        opts.Logger,
		began:      time.Now(),
		maxPending: int64(opts.MaxPending),
		fallback:   opts.Fallback,
		ended:      make(chan struct{}),
		shut:       make(chan struct{}),
	}
	q.until.Store(math.MaxInt64)
	q.mail.bell = make(chan struct{}, 1)
	q.actor.free = opts.Workers
	q.actor.until = math.MaxInt64
	if opts.Failed == nil {
		opts.Failed = func(Failure) {}
	}
	q.failed = opts.Failed
	var err error
	if q.sender, err = newSender(opts.Workers, &q.lag, q.may, q.report); err != nil {
		return nil, err
	}
	if opts.Store != nil {
		if q.store, err = opts.Store(q.log); err != nil {
			q.sender.close()
			return nil, err
		}
		q.store.Recover(q.restore)
	}
	go q.run()
	return q, nil
}

// clock returns the time since the queue was opened.
func (q *Queue) clock() time.Duration { return time.Since(q.began) }

// Errors of Accept, in addition to those of the store.
var (
	ErrFull   = errors.New("webhook queue is full")
	ErrClosed = errors.New("the webhook queue is closed")
)

// Accept makes a delivery pending. The error is ErrFull, ErrClosed, or an error of the store. With
// a store, Accept returns when the delivery is safe there; without one, it neither blocks nor
// allocates. Each accepted delivery must be started.
func (q *Queue) Accept(d *Delivery) error {
	err := q.accept(d)
	if err != nil {
		q.refused.Add(1)
	}
	return err
}

func (q *Queue) accept(d *Delivery) error {
	if q.closed.Load() {
		return ErrClosed
	}
	if q.pending.Add(1) > q.maxPending {
		q.pending.Add(-1)
		return ErrFull
	}
	if q.store == nil {
		return nil
	}
	err := q.keep(d)
	if err != nil && q.fallback {
		d.id |= unstored
		q.unstored.Add(1)
		q.inMemory.Add(1)
		return nil
	}
	if err != nil {
		q.pending.Add(-1)
	}
	return err
}

// Start begins the delay of an accepted delivery at the given time, which is when its response was
// written. It neither blocks nor allocates.
func (q *Queue) Start(d Delivery, written time.Time) {
	due := max(written.Sub(q.began), 0)
	if due += d.Delay; due < 0 { // overflow
		due = math.MaxInt64
	}
	q.mail.put(arrival{Delivery: d, due: due})
}

// Close accepts no more deliveries, sends those that fall due before ctx ends, and returns the
// final stats. The others are kept in the store, or abandoned. A further call waits until the first
// one returns or until its own ctx ends, and returns ErrClosed.
func (q *Queue) Close(ctx context.Context) (Stats, error) {
	if q.closed.Swap(true) {
		return q.closedBefore(ctx)
	}
	defer close(q.shut)
	q.await(ctx)
	var err error
	if q.store != nil {
		err = q.store.Close()
	}
	return q.snapshot(), err
}

// closedBefore implements Close when the queue is already closed.
func (q *Queue) closedBefore(ctx context.Context) (Stats, error) {
	q.await(ctx)
	<-q.shut
	return q.snapshot(), ErrClosed
}

// await ends the actor when ctx ends, or earlier, and waits for it.
func (q *Queue) await(ctx context.Context) {
	if at, ok := ctx.Deadline(); ok {
		q.endBy(at.Sub(q.began))
	}
	q.mail.call()
	select {
	case <-q.ended:
	case <-ctx.Done():
		q.endBy(q.clock())
		<-q.ended
	}
}

// endBy moves the end of the queue to an earlier time.
func (q *Queue) endBy(at time.Duration) {
	for {
		until := q.until.Load()
		if int64(at) >= until || q.until.CompareAndSwap(until, int64(at)) {
			break
		}
	}
	q.mail.call()
}

// run is the goroutine of the actor.
func (q *Queue) run() {
	defer close(q.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	a := &q.actor
	for {
		// These are read before the mailbox is emptied: by then it contains everything that was
		// accepted.
		a.closing, a.until = q.closed.Load(), time.Duration(q.until.Load())
		q.mail.empty(&a.batch)
		q.take(&a.batch)
		now := q.clock()
		arrived := a.wheel.advance(int64(now/tick), stride)
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

// alarm returns when the actor has to wake up by itself.
func (q *Queue) alarm() time.Duration {
	at := q.actor.until
	if len(q.actor.parked) > 0 {
		at = min(at, q.clock()+lookAgain)
	}
	if next, ok := q.actor.wheel.next(); ok && next < int64(at/tick) {
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
			q.forget(arrival.id)
			go q.failed(Failure{Webhook: arrival.Webhook, Attempt: 1, Final: true, Err: err}) // the callback may block
			continue
		}
		a.wheel.add(tickOf(arrival.due), id)
	}
	for _, question := range b.asked {
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
	for id := a.wheel.take(); id != 0; id = a.wheel.take() {
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
	q.unpark()
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

// unpark returns the parked deliveries to their targets, once the store lets attempts begin.
func (q *Queue) unpark() {
	a := &q.actor
	if len(a.parked) == 0 || !q.store.MayBegin() {
		return
	}
	for _, id := range a.parked {
		_, _, t := a.ledger.get(id)
		t.push(id, &a.ledger.entries)
		if !t.queued {
			a.round.push(t)
		}
	}
	a.parked = nil
}

// launch sends the first ready delivery of a target.
func (q *Queue) launch(t *target) {
	a := &q.actor
	id := t.pop(&a.ledger.entries)
	e, f, _ := a.ledger.get(id)
	if e.state == cancelled {
		a.stats.Due--
		a.ledger.remove(id)
		return
	}
	err := q.may(e.id)
	if err == errNotNow {
		a.parked = append(a.parked, id)
		return
	}
	a.stats.Due--
	if err == errElsewhere {
		q.leave(id)
		return
	}
	a.free--
	t.inFlight++
	a.stats.InFlight++
	e.state = inFlight
	e.attempt++
	q.sender.send(job{entry: id, form: f, parts: e.parts, target: t.name, depth: int(e.depth), attempt: int(e.attempt), due: q.began.Add(e.due), key: e.id})
}

// report is called by workers with the results of their attempts.
func (q *Queue) report(r result) {
	if !r.delivered() && !r.brokenOff && !r.unsent() {
		q.failed(Failure{Webhook: r.webhook, Attempt: r.attempt, Final: !r.again(), Status: r.status, Err: r.err})
	}
	q.mail.finish(r)
}

// finished processes the result of an attempt: the delivery is done, or is retried later.
func (q *Queue) finished(r *result) {
	a := &q.actor
	e, f, t := a.ledger.get(r.entry)
	a.free++
	t.inFlight--
	a.stats.InFlight--
	switch r.err {
	case errNotNow:
		e.state = ready
		e.attempt--
		a.stats.Due++
		a.parked = append(a.parked, r.entry)
		return
	case errElsewhere:
		q.leave(r.entry)
		return
	}
	if t.failures++; r.err == nil {
		t.failures = 0
	}
	switch {
	case r.delivered():
		a.stats.Delivered++
	case r.brokenOff: // it remains pending, to be kept or abandoned
		return
	case r.again():
		a.stats.Retried++
		e.due, e.state = q.clock()+f.Retry.wait(int(e.attempt), r.retryAfter, rand.Float64()), waiting
		a.ledger.failed(r.entry, r.reason())
		a.wheel.add(tickOf(e.due), r.entry)
		return
	default:
		a.stats.Dead++
	}
	q.forget(e.id)
	a.ledger.remove(r.entry)
}

// forget removes a delivery from the count of pending ones and from the outbox.
func (q *Queue) forget(id uint64) {
	q.pending.Add(-1)
	switch {
	case stored(id):
		q.store.Done(id)
	case q.store != nil:
		q.inMemory.Add(-1)
	}
}

// leave removes an entry that another process sends.
func (q *Queue) leave(entry uint32) {
	q.actor.stats.Kept++
	q.pending.Add(-1)
	q.actor.ledger.remove(entry)
}

// over reports whether the queue has ended: it is closing, and no delivery is left that falls due
// in time.
func (q *Queue) over(now time.Duration) bool {
	a := &q.actor
	switch {
	case !a.closing:
		return false
	case now >= a.until:
		return true
	case a.stats.Due > int64(len(a.parked)) || a.stats.InFlight > 0: // the store keeps those that are parked
		return false
	}
	next, ok := a.wheel.next()
	return !ok || next > int64(a.until/tick)
}

// end stops the workers and counts the deliveries that are left.
func (q *Queue) end() {
	a := &q.actor
	q.sender.close()
	q.mail.empty(&a.batch)
	q.take(&a.batch)
	if q.store == nil {
		a.stats.Abandoned = q.pending.Load()
	} else {
		a.stats.Abandoned = q.inMemory.Load()
		a.stats.Kept += q.pending.Load() - a.stats.Abandoned
	}
}
