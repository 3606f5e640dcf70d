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

// sender makes attempts and reports their results. No other file of the package uses the library
// that provides the pool of workers.
type sender struct {
	workers   *ants.PoolWithFuncGeneric[job]
	pool      *client.Pool
	exchanges sync.Pool // of *client.Exchange
	finish    func(result)
	lag       *histogram.Histogram
	working   sync.WaitGroup
}

func (j *job) result(err error) result {
	return result{entry: j.entry, webhook: j.form.Webhook, attempt: j.attempt, err: err}
}

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

// send passes the job to a worker. The queue counts its workers, so one is free now or will be in a
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
			r.err = fmt.Errorf("a bug in the server: %v", p)
		}
		r.brokenOff = r.err != nil && s.pool.Closed()
		s.finish(r)
	}()
	x := s.exchanges.Get().(*client.Exchange)
	if r.status, r.err = s.attempt(&j, x, time.Now()); r.err == nil {
		r.retryAfter = x.RetryAfter
	}
	if x.Small() {
		s.exchanges.Put(x)
	}
}

// attempt makes one attempt, and returns the status of the response.
func (s *sender) attempt(j *job, x *client.Exchange, began time.Time) (status int, err error) {
	var body []byte
	if x.Request, body, err = j.appendRequest(x.Request[:0], began); err != nil {
		return 0, err
	}
	conn, err := s.pool.Get(j.target, j.form.TLS, began.Add(j.form.Timeout))
	if err != nil {
		s.late(j, began) // the time spent connecting to an unreachable target does not count
		return 0, j.timedOut("no connection to", began, err)
	}
	s.late(j, time.Now()) // the request is written next; the target may never respond
	status, reusable, err := x.RoundTrip(conn, j.form.Method, body)
	if reusable {
		s.pool.Put(conn)
	} else {
		s.pool.Drop(conn)
	}
	return status, j.timedOut("no answer from", began, err)
}

// late records how late a first attempt was.
func (s *sender) late(j *job, sent time.Time) {
	if j.attempt == 1 {
		s.lag.Add(sent.Sub(j.due))
		j.form.counters.lag.Add(sent.Sub(j.due))
	}
}

// timedOut replaces the error of an attempt that timed out with one that states what it waited for,
// the limit, and which attempt it was. It returns other errors unchanged.
func (j *job) timedOut(what string, began time.Time, err error) error {
	var late interface{ Timeout() bool }
	if !errors.As(err, &late) || !late.Timeout() || time.Since(began) < j.form.Timeout {
		return err
	}
	return fmt.Errorf("%s %s within %v, attempt %d of %d", what, j.target, j.form.Timeout, j.attempt, max(j.form.Retry.Attempts, 1))
}

// close aborts the attempts in flight and waits for the workers to end.
func (s *sender) close() {
	s.pool.Close()
	s.working.Wait()
	s.workers.Release()
}

// result is the result of an attempt.
type result struct {
	entry   uint32
	webhook *Webhook
	attempt int
	status  int // of the response; 0 if there is none
	// retryAfter is the wait that the target requested before a retry; 0 if it requested none.
	retryAfter time.Duration
	err        error // why there is no response
	// brokenOff is set if the attempt failed after the end of the queue had closed the connections.
	brokenOff bool
}

func (r *result) delivered() bool { return r.err == nil && r.status < 400 }

// reason returns why an attempt failed, as a text of limited length.
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

// maxReason is the maximum length of the reason that is kept for a failed attempt, in bytes.
const maxReason = 200
