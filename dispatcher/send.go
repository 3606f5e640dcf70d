package dispatcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/valyala/fasthttp"
)

// sender sends deliveries, each once, and reports what came of it. This file alone
// knows the pool of workers, and with connections.go HTTP.
type sender struct {
	workers *ants.PoolWithFuncGeneric[job]
	conns   *connections
	finish  func(result)
	working sync.WaitGroup
}

// job is one attempt.
type job struct {
	entry   uint32
	webhook *Webhook
	parts   []byte
	depth   int
	attempt int
	key     uint64 // of idempotency; 0 for none
}

func (j *job) result(sent time.Time, status int, err error) result {
	return result{entry: j.entry, webhook: j.webhook, attempt: j.attempt, sent: sent, status: status, err: err}
}

// result is what came of an attempt.
type result struct {
	entry   uint32
	webhook *Webhook
	attempt int
	sent    time.Time // when it was begun
	status  int       // of the answer; 0 for none
	err     error     // why there is no answer
	// brokenOff tells that it failed because the queue was closed.
	brokenOff bool
}

func (r *result) delivered() bool { return r.err == nil && r.status < 400 }

// again tells whether another attempt follows.
func (r *result) again() bool {
	return !r.delivered() && r.attempt < r.webhook.Retry.Attempts && worthRetrying(r.status, r.err)
}

const (
	// maxAnswer is how much of an answer is read; nothing is made of it.
	maxAnswer = 1 << 20
	// expiry is how long an idle worker is kept.
	expiry = 10 * time.Second
)

func newSender(workers int, finish func(result)) (*sender, error) {
	s := &sender{finish: finish, conns: newConnections()}
	var err error
	if s.workers, err = ants.NewPoolWithFuncGeneric(workers, s.work, ants.WithExpiryDuration(expiry)); err != nil {
		return nil, fmt.Errorf("start webhook workers: %w", err)
	}
	return s, nil
}

// send has a worker do the job. The queue counts its workers, so there is one, or
// there is in a moment.
func (s *sender) send(j job) {
	s.working.Add(1)
	if err := s.workers.Invoke(j); err != nil {
		s.working.Done()
		s.finish(j.result(time.Now(), 0, err))
	}
}

func (s *sender) work(j job) {
	defer s.working.Done()
	r := j.result(time.Now(), 0, nil)
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("a defect of the server: %v", p)
		}
		r.brokenOff = r.err != nil && s.conns.isClosed()
		s.finish(r)
	}()
	r.status, r.err = s.attempt(&j)
}

// Names of headers of the server's own.
const (
	// DepthHeader tells how many webhooks led to a request.
	DepthHeader = "X-Mockserver-Webhook-Depth"
	// KeyHeader tells apart deliveries that may be sent more than once.
	KeyHeader = "Idempotency-Key"
)

// attempt makes one attempt, and returns the status of the answer.
func (s *sender) attempt(j *job) (status int, err error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	if err := j.request(req); err != nil {
		return 0, err
	}
	deadline := time.Now().Add(j.webhook.Timeout)
	c, err := s.conns.get(req.URI(), deadline)
	if err != nil {
		return 0, err
	}
	resp.SkipBody = req.Header.IsHead()
	err = c.exchange(req, resp, deadline)
	s.conns.put(c, err == nil && !resp.ConnectionClose())
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		err = nil // it was answered, at length
	}
	if err != nil {
		return 0, err
	}
	return resp.StatusCode(), nil
}

// request makes the request of a job.
func (j *job) request(req *fasthttp.Request) error {
	texts, err := j.webhook.texts(j.parts)
	if err != nil {
		return err
	}
	h := &req.Header
	h.DisableNormalizing()
	h.SetNoDefaultContentType(true)
	h.SetMethod(j.webhook.Method)
	if err := req.URI().Parse(nil, texts.URL); err != nil {
		return err
	}
	req.URI().DisablePathNormalizing = true // the URL is sent as it was rendered
	addHeaders(h, texts.Header)
	h.Set(DepthHeader, strconv.Itoa(j.depth))
	if j.key != 0 {
		h.Set(KeyHeader, fmt.Sprintf("%016x", j.key))
	}
	if sign := j.webhook.Sign; sign != nil {
		h.Set(sign.Header, sign.value(texts.Body, time.Now()))
	}
	req.SetBodyRaw(texts.Body)
	return nil
}

// addHeaders adds lines "Name: value\r\n".
func addHeaders(h *fasthttp.RequestHeader, lines []byte) {
	for line := range strings.SplitSeq(string(lines), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			h.Add(name, value)
		}
	}
}

// close breaks off what is being sent, and waits for the workers to end.
func (s *sender) close() {
	s.conns.close()
	s.working.Wait()
	s.workers.Release()
}
