package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// crew is the generator for systems without epoll. It uses a goroutine for each connection, so a
// request costs about twice as much as with epoll.
type crew struct {
	*Plan
	schedule *schedule
	address  string
	members  []*member
	next     atomic.Int64 // the next request that no member has taken
	total    *Outcome
	ending   context.Context // done once the schedule is over
	finish   context.CancelFunc
}

// member is one connection of a crew.
type member struct {
	*crew
	result  *Outcome
	turn    int  // position in the requests
	counted bool // with a rate: the request in flight counts
	used    bool // the connection has had an answer
	buf     []byte
	answer  answer
	seen    seenHead
	timer   *time.Timer

	mu   sync.Mutex // only the member's goroutine uses conn, except to set its deadline
	conn net.Conn   // nil if there is none
}

const memberBuffer = 16 << 10

func newCrew(l *Plan, address *net.TCPAddr, c *schedule) *crew {
	w := &crew{Plan: l, schedule: c, address: address.String(), total: newOutcome()}
	w.ending, w.finish = context.WithCancel(context.Background())
	for i := range l.Connections {
		timer := time.NewTimer(0)
		timer.Stop()
		w.members = append(w.members, &member{
			crew: w, result: newOutcome(), timer: timer, buf: make([]byte, memberBuffer),
			turn: i * len(l.Requests) / l.Connections % len(l.Requests),
		})
	}
	return w
}

// connect opens the connections, as many as connectTime allows. The remaining ones are opened when
// they are needed.
func (w *crew) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var failed error
	open := 0
	for _, m := range w.members {
		if err := m.dial(ctx); err == nil {
			open++
		} else if failed == nil {
			failed = err
		}
	}
	if open > 0 {
		return nil
	}
	return fmt.Errorf("connect to %s: %s", w.Plan.Address, reason(failed))
}

func (m *member) dial(ctx context.Context) error {
	dialer := net.Dialer{Timeout: connectTime}
	conn, err := dialer.DialContext(ctx, "tcp", m.address)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.conn, m.used = conn, false
	m.mu.Unlock()
	return nil
}

func (m *member) hangUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil {
		_ = m.conn.Close() // nothing that was written matters any more
		m.conn = nil
	}
}

// send runs the members to the end of the schedule.
func (w *crew) send() {
	var all sync.WaitGroup
	for _, m := range w.members {
		all.Go(m.send)
	}
	all.Wait()
	w.finish()
	for _, m := range w.members {
		w.total.add(m.result)
	}
	if w.Rate > 0 {
		w.total.Missed += uint64(max(w.dueEnd()-max(w.next.Load(), w.schedule.dueFrom), 0))
	}
}

// dueEnd returns the first request that was not due before the end, which is earlier if the
// schedule was given up.
func (w *crew) dueEnd() int64 {
	return min(w.schedule.dueTo, w.schedule.firstDue(w.schedule.end.Load()))
}

func (m *member) send() {
	defer m.hangUp()
	for !m.schedule.over(m.schedule.now()) {
		if !m.connected() {
			m.sleep(restTime)
			continue
		}
		from, ok := m.nextSend()
		if !ok {
			return
		}
		m.exchange(from)
		if m.turn++; m.turn == len(m.Requests) {
			m.turn = 0
		}
	}
}

// connected opens the connection if there is none, and reports whether there is one then.
func (m *member) connected() bool {
	if m.conn != nil {
		return true
	}
	err := m.dial(m.ending)
	if err != nil && m.schedule.counts(m.schedule.now()) {
		m.result.fail("connect: "+reason(err), 1)
	}
	return err == nil
}

// sleep waits, unless the schedule is over.
func (m *member) sleep(d time.Duration) {
	m.timer.Reset(d)
	defer m.timer.Stop()
	select {
	case <-m.timer.C:
	case <-m.ending.Done():
	}
}

// nextSend waits until the next request is due, and returns when its latency begins. ok is false if
// no further request is to be sent.
func (m *member) nextSend() (from int64, ok bool) {
	c := m.schedule
	if m.Rate == 0 {
		return c.now(), true
	}
	i := m.next.Add(1) - 1
	for i < c.dueFrom && c.now() >= c.countedFrom() { // requests that the warm-up left over are not sent
		i = m.next.Add(1) - 1
	}
	if i >= c.dueTo {
		return 0, false
	}
	due := c.due(i)
	m.counted = i >= c.dueFrom
	if wait := due - c.now(); wait > 0 {
		m.sleep(time.Duration(wait))
	}
	now := c.now()
	switch {
	case c.over(now):
		if m.counted && i < m.dueEnd() {
			m.result.Missed++
		}
		return 0, false
	case m.counted && now-due > int64(lateTime):
		m.result.Late++
	}
	return due, true
}

// exchange sends a request and reads its answer. With a rate, it sends the request once more, on a
// new connection, if the server seems to have closed the idle connection.
func (m *member) exchange(from int64) {
	request := m.Requests[m.turn]
	head := isHead(request)
	err := m.ask(request, head)
	if m.Rate > 0 && m.used && err != nil && !m.answer.begun() &&
		!errors.Is(err, os.ErrDeadlineExceeded) && !m.schedule.over(m.schedule.now()) {
		// The server may close an idle connection.
		m.hangUp()
		if err = m.dial(m.ending); err == nil {
			err = m.ask(request, head)
		}
	}
	now := m.schedule.now()
	if err != nil {
		m.hangUp()
		if !m.schedule.given.Load() {
			m.fail(now, failure(err))
			m.sleep(restTime)
		}
		return
	}
	m.used = true
	if unlike := m.Wants[m.turn].unlike(m.answer.head.Status, m.answer.size); unlike != "" {
		m.fail(now, unlike)
	} else if m.Rate == 0 && m.schedule.counts(now) || m.Rate > 0 && m.counted {
		m.result.answered(now - from)
	}
	if m.answer.head.Closes || m.answer.head.Status == 101 {
		m.hangUp()
	}
}

// ask writes a request and reads until its answer is complete.
func (m *member) ask(request []byte, head bool) error {
	m.answer.reset(head)
	if _, err := m.conn.Write(request); err != nil {
		return err
	}
	for {
		n, err := m.conn.Read(m.buf)
		if n > 0 {
			if done, err := m.answer.accept(m.buf[:n], &m.seen); done || err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return m.answer.end()
		case err != nil:
			return err
		}
	}
}

// failure returns the kind under which an error of a connection is counted.
func failure(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return noAnswer
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return resetByServer
	}
	return reason(err)
}

// fail counts an error if its request counts.
func (m *member) fail(now int64, kind string) {
	if m.Rate > 0 && m.counted || m.Rate == 0 && now >= m.schedule.begin.Load() {
		m.result.fail(kind, 1)
	}
}

// wake ends the waits of the members: at once if the schedule was given up, otherwise when the time
// for outstanding answers has passed.
func (w *crew) wake() {
	w.finish()
	deadline := time.Now()
	if !w.schedule.given.Load() {
		deadline = deadline.Add(cmp.Or(w.patience, defaultPatience))
	}
	for _, m := range w.members {
		m.mu.Lock()
		if m.conn != nil {
			_ = m.conn.SetDeadline(deadline) // fails if it is closed
		}
		m.mu.Unlock()
	}
}

// used returns the CPU time of the whole process, because the system does not count it by
// goroutine.
func (w *crew) used() (time.Duration, int) {
	cpu, err := CPUOf(os.Getpid())
	if err != nil {
		return 0, 0
	}
	return cpu, runtime.GOMAXPROCS(0)
}

func (w *crew) outcome() *Outcome { return w.total }

func (w *crew) close() {
	w.finish()
	for _, m := range w.members {
		m.hangUp()
	}
}
