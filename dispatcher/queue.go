// Package dispatcher sends webhooks: requests that the server makes some time after it has answered
// the request that triggered them.
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
// With a store, the deliveries in it survive a crash of the process or the machine and are sent at
// least once. Without one, each attempt is made at most once.
//
// The only packages of the module that this package imports are dispatcher/client,
// dispatcher/outbox and internal packages.
package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"mockserver/dispatcher/outbox"
	"mockserver/internal/histogram"
	"mockserver/internal/wheel"
)

// Options of a queue. The zero value is ready to use.
type Options struct {
	MaxPending int // maximum number of pending deliveries; 0 selects a million
	Workers    int // maximum number of concurrent sends; 0 selects 1024
	// Store is the directory of the log of accepted deliveries; "" for no log. Only one queue at a
	// time may use a directory.
	Store string

	Logger *slog.Logger // for messages about the store; nil logs nothing
	// Failed is called for each failed attempt, in the goroutine of a worker, but not for an
	// attempt that the end of the queue aborted. If the URL is invalid, no attempt is made, and
	// Failed is called in a separate goroutine. It may be nil.
	Failed func(Failure)
}

// Failure is an attempt that failed, or that was not made because the URL is invalid.
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
	// stride is the maximum number of entries that the wheel moves before the actor checks the
	// mailbox again.
	stride = 4096
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
	unsendable atomic.Int64
	counters   atomic.Pointer[Counters] // of deliveries that are accepted now; never nil
	sender     *sender
	lag        histogram.Histogram
	failed     func(Failure)
	store      *outbox.Outbox // nil if there is none
	restored   int64          // deliveries that were read from the store; set once
	lost       int64          // minimum number of records of the store that could not be read; set once
	until      atomic.Int64   // when the queue ends, on its clock; the maximum until it is closed
	ended      chan struct{}  // closed when the actor has stopped
	shut       chan struct{}  // closed when everything has stopped

	actor actor
}

// actor is the state that only the queue's goroutine uses.
type actor struct {
	wheel   wheel.Wheel
	ledger  ledger
	round   round // the targets that have ready deliveries
	free    int   // number of free workers
	stats   Stats // except the lag
	batch   batch
	until   time.Duration // when the queue ends, if closing; otherwise the maximum
	closing bool
	givenUp []GivenUp
}

// Open starts a queue.
func Open(opts Options) (*Queue, error) {
	opts.MaxPending = cmp.Or(opts.MaxPending, defaultMaxPending)
	opts.Workers = cmp.Or(opts.Workers, defaultWorkers)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	q := &Queue{
		log:        opts.Logger,
		began:      time.Now(),
		maxPending: int64(opts.MaxPending),
		ended:      make(chan struct{}),
		shut:       make(chan struct{}),
	}
	q.until.Store(math.MaxInt64)
	q.Begin()
	q.mail.bell = make(chan struct{}, 1)
	q.actor.free = opts.Workers
	q.actor.until = math.MaxInt64
	if opts.Failed == nil {
		opts.Failed = func(Failure) {}
	}
	q.failed = opts.Failed
	var err error
	if q.sender, err = newSender(opts.Workers, &q.lag, q.report); err != nil {
		return nil, err
	}
	if opts.Store != "" {
		var pending []outbox.Entry
		if q.store, pending, err = outbox.Open(opts.Store, q.log); err != nil {
			q.sender.close()
			return nil, err
		}
		if len(pending) > 0 {
			q.log.Info("webhooks are still pending from an earlier start", "pending", len(pending), "store", opts.Store)
		}
		q.lost = q.store.Lost
		q.restore(pending)
	}
	go q.run()
	return q, nil
}

// clock returns the time since the queue was opened.
func (q *Queue) clock() time.Duration { return time.Since(q.began) }

// Errors returned by Accept, in addition to errors from the store.
var (
	ErrFull   = errors.New("webhook queue is full")
	ErrClosed = errors.New("the webhook queue is closed")
)

// Accept makes a delivery pending. The error is ErrFull, ErrClosed, or an error from the store.
// With a store, Accept returns when the delivery is safe there, or when the store has refused it;
// without one, it neither blocks nor allocates. Each accepted delivery must be started.
func (q *Queue) Accept(d *Delivery) error {
	d.counters = q.counters.Load()
	err := q.accept(d)
	if err != nil {
		q.refused.Add(1)
		d.counters.refused.Add(1)
	} else {
		d.counters.accepted.Add(1)
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
	// The time is capped, because the store encodes it as nanoseconds in 64 bits.
	due := time.Now().Add(min(d.Delay, time.Until(time.Unix(0, math.MaxInt64))))
	e := outbox.Entry{Due: due, Depth: d.Depth, Webhook: appendWebhook(nil, d.Webhook), Parts: d.parts}
	err := q.store.Store(&e)
	if err != nil {
		q.pending.Add(-1)
	}
	d.id = e.ID
	return err
}

// restore makes deliveries from the store pending again. It skips a delivery whose webhook cannot
// be read, and counts it as lost.
func (q *Queue) restore(pending []outbox.Entry) {
	earlier := new(Counters) // no period of this queue
	webhooks := map[string]*Webhook{}
	for _, e := range pending {
		w := webhooks[string(e.Webhook)]
		if w == nil {
			var err error
			if w, err = readWebhook(e.Webhook); err != nil {
				q.log.Error("a webhook in the store cannot be read and is skipped", "error", err.Error())
				q.lost++
				continue
			}
			webhooks[string(e.Webhook)] = w
		}
		d := Delivery{Webhook: w, Depth: e.Depth, parts: e.Parts, id: e.ID, counters: earlier}
		q.pending.Add(1)
		q.restored++
		q.mail.put(arrival{Delivery: d, due: max(q.clock()+e.Due.Sub(time.Now().Round(0)), 0)})
	}
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
// final stats. The other deliveries are kept in the store, or abandoned. A further call ends the
// queue when its own ctx ends, if that is earlier. It waits until everything has stopped, and
// returns ErrClosed.
func (q *Queue) Close(ctx context.Context) (Stats, error) {
	if q.closed.Swap(true) {
		q.await(ctx)
		<-q.shut
		return q.snapshot(), ErrClosed
	}
	defer close(q.shut)
	q.await(ctx)
	var err error
	if q.store != nil {
		err = q.store.Close()
	}
	return q.snapshot(), err
}

// await waits until the actor stops, which is when ctx ends or earlier.
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
// actor has stopped, nothing owns its state.
func (q *Queue) ask(question func()) bool {
	done := make(chan struct{})
	q.mail.ask(func() {
		question()
		close(done)
	})
	select {
	case <-done:
		return true
	case <-q.ended:
	}
	select {
	case <-done: // it was the last thing the actor did
		return true
	default:
		return false
	}
}

// snapshot returns the current stats. Until the actor has stopped, only the actor may call it.
func (q *Queue) snapshot() Stats {
	s := q.actor.stats
	q.lag.Read(&s.Lag)
	for t, n := q.actor.round.first, 0; n < q.actor.round.size; t, n = t.after, n+1 {
		if first := t.ready.first; first != 0 {
			s.Oldest = max(s.Oldest, q.clock()-q.actor.ledger.entries.At(first).due)
		}
	}
	s.Pending = q.pending.Load()
	s.Refused = q.refused.Load()
	s.Dead += q.unsendable.Load()
	s.Restored, s.Lost = q.restored, q.lost
	return s
}
