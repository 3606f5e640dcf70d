package dispatcher

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"

	"mockserver/dispatcher/client"
	"mockserver/internal/histogram"
)

// sender makes attempts and reports their results. Only this file knows the library with
// the pool of workers.
type sender struct {
	workers   *ants.PoolWithFuncGeneric[job]
	pool      *client.Pool
	exchanges sync.Pool // of *client.Exchange
	finish    func(result)
	lag       *histogram.Histogram
	working   sync.WaitGroup
}

// job is one attempt.
type job struct {
	entry   uint32
	form    *form
	parts   []byte
	target  string
	depth   int
	attempt int
	due     time.Time
	key     uint64 // of idempotency; 0 for none
}

func (j *job) result(err error) result {
	return result{entry: j.entry, webhook: j.form.Webhook, attempt: j.attempt, err: err}
}

// result is the result of an attempt.
type result struct {
	entry   uint32
	webhook *Webhook
	attempt int
	status  int // of the answer; 0 for none
	// retryAfter is how long the target asked to be left alone; 0 for nothing.
	retryAfter time.Duration
	err        error // why there is no answer
	// brokenOff is set if it failed because the queue was closed.
	brokenOff bool
}

func (r *result) delivered() bool { return r.err == nil && r.status < 400 }

// reason is why an attempt failed, in a text of bounded length.
func (r *result) reason() string {
	if r.err == nil {
		return fmt.Sprintf("status %d", r.status)
	}
	text := r.err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// again reports whether another attempt follows.
func (r *result) again() bool {
	return !r.delivered() && r.attempt < r.webhook.Retry.Attempts && (r.err != nil || r.status == 429 || r.status >= 500)
}

// maxReason is the length of the reason that is kept of a failed attempt, in bytes.
const maxReason = 200

// expiry is how long an idle worker is kept.
const expiry = 10 * time.Second

func newSender(workers int, lag *histogram.Histogram, finish func(result)) (*sender, error) {
	s := &sender{finish: finish, lag: lag, pool: client.NewPool(workers)}
	s.exchanges.New = func() any { return client.NewExchange() }
	var err error
	if s.workers, err = ants.NewPoolWithFuncGeneric(workers, s.work, ants.WithExpiryDuration(expiry)); err != nil {
		return nil, fmt.Errorf("start webhook workers: %w", err)
	}
	return s, nil
}

// send gives the job to a worker. The queue counts its workers, so one is free now or in a
// moment.
func (s *sender) send(j job) {
	s.working.Add(1)
	if err := s.workers.Invoke(j); err != nil {
		s.working.Done()
		s.finish(j.result(err))
	}
}

func (s *sender) work(j job) {
	defer s.working.Done()
	r := j.result(nil)
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("a defect of the server: %v", p)
		}
		r.brokenOff = r.err != nil && s.pool.Closed()
		s.finish(r)
	}()
	r.status, r.retryAfter, r.err = s.attempt(&j)
}

// attempt makes one attempt, and returns the status of the answer and how long the target
// asks to be left alone.
func (s *sender) attempt(j *job) (status int, retryAfter time.Duration, err error) {
	x := s.exchanges.Get().(*client.Exchange)
	status, err = s.exchange(j, x, time.Now())
	if err == nil {
		retryAfter = x.RetryAfter
	}
	if x.Small() {
		s.exchanges.Put(x)
	}
	return status, retryAfter, err
}

func (s *sender) exchange(j *job, x *client.Exchange, began time.Time) (status int, err error) {
	var body []byte
	if x.Request, body, err = j.appendRequest(x.Request[:0], began); err != nil {
		return 0, err
	}
	conn, err := s.pool.Get(j.target, began.Add(j.form.Timeout))
	if err != nil {
		s.late(j, began) // it was on time, and the target was not there
		return 0, j.timedOut("no connection to", began, err)
	}
	s.late(j, time.Now()) // it is written next; a target may never answer
	status, reusable, err := x.RoundTrip(conn, j.form.Method, body)
	if reusable {
		s.pool.Put(conn)
	} else {
		s.pool.Drop(conn)
	}
	return status, j.timedOut("no answer from", began, err)
}

// late counts how late a first attempt was.
func (s *sender) late(j *job, sent time.Time) {
	if j.attempt == 1 {
		s.lag.Add(sent.Sub(j.due))
	}
}

// timedOut replaces the error of an attempt that ran out of time by one that says what it
// waited for, the limit, and which attempt it was. Other errors stay as they are.
func (j *job) timedOut(what string, began time.Time, err error) error {
	var late interface{ Timeout() bool } // the one of fasthttp is not a net.Error
	if !errors.As(err, &late) || !late.Timeout() || time.Since(began) < j.form.Timeout {
		return err
	}
	return fmt.Errorf("%s %s within %v, attempt %d of %d", what, j.target, j.form.Timeout, j.attempt, max(j.form.Retry.Attempts, 1))
}

// close breaks off the attempts in flight, and waits for the workers to end.
func (s *sender) close() {
	s.pool.Close()
	s.working.Wait()
	s.workers.Release()
}
