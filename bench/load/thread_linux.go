package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// generators returns the threads of the generator, one for each of its CPUs, each with its part of
// the connections. They must be closed even after an error. A thread that has a core to itself may
// spin. With a thread on every core, spinning would take time from the server.
func (l *Plan) generators(address *net.TCPAddr, c *schedule) ([]*thread, error) {
	allowed := len(allowedCPUs())
	n := min(cmp.Or(len(l.CPUs), allowed, 1), l.Connections)
	var threads []*thread
	for i := range n {
		t := &thread{
			Plan: l, schedule: c, result: newOutcome(), spin: len(l.CPUs) > 0 || n < allowed, cpu: -1,
			address: &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())},
			index:   int64(i), step: int64(n), conns: make([]conn, (l.Connections+n-1-i)/n),
		}
		if len(l.CPUs) > 0 {
			t.cpu = l.CPUs[i]
		}
		t.free.room(len(t.conns))
		t.resting.room(len(t.conns))
		for j := range t.conns {
			// Connections begin with different requests, so that all are in flight early.
			t.conns[j].next = int32((i + j*n) * len(l.Requests) / l.Connections % len(l.Requests))
			t.conns[j].fd = -1
		}
		threads = append(threads, t)
		if err := t.epoll.open(); err != nil {
			return threads, err
		}
	}
	return threads, nil
}

const (
	// spinTime is how long before a send is due a thread stops sleeping and spins: the system ends
	// a sleep some 50 µs late, even later on a virtual machine. Spinning counts as waiting.
	spinTime = 100 * time.Microsecond
	longWait = 100 * time.Millisecond // between checks of the schedule
)

// thread sends its part of a load, in a loop over the events of its connections. Other goroutines read
// only the atomic fields.
type thread struct {
	*Plan
	schedule *schedule
	epoll    epoll
	result   *Outcome
	spin     bool // may use its core while it waits
	cpu      int  // the CPU that it is pinned to; -1 for none
	address  unix.Sockaddr
	seen     [16]seenHead // by request

	conns       []conn
	sending     bool
	established int
	opening     int
	outstanding int
	failure     error // of the last connection that could not be opened
	now         int64 // when the clock was last read

	free    ring  // connections without a request, longest idle first
	resting ring  // those to be opened again
	index   int64 // of the next request that is due here
	step    int64 // distance to the one after it: the number of threads

	spun atomic.Int64 // in nanoseconds
	tid  atomic.Int64 // 0 before and after it runs
	last atomic.Int64 // CPU time used when it ended
}

// connect opens the connections, a limited number at a time.
func (t *thread) connect(ctx context.Context) error {
	deadline := time.Now().Add(connectTime)
	for i := 0; ctx.Err() == nil && time.Now().Before(deadline); {
		for ; i < len(t.conns) && t.opening < connecting; i++ {
			t.dial(i)
		}
		if i == len(t.conns) && t.opening == 0 {
			break
		}
		t.turn(int64(longWait))
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case t.established > 0:
		return nil
	case t.failure == nil:
		t.failure = errors.New("no answer in " + connectTime.String())
	}
	return fmt.Errorf("connect to %s: %w", t.Plan.Address, t.failure)
}

// send runs the thread.
func (t *thread) send() {
	t.begin()
	defer t.end()
	t.sending = true
	t.now = t.schedule.now()
	for i := range t.conns {
		if t.conns[i].state == idle {
			t.ready(i)
		} else if t.conns[i].state == shut {
			t.rest(i)
		}
	}
	for !t.over() {
		t.turn(t.untilNext())
		t.reopen()
		if t.Rate > 0 {
			t.now = t.schedule.now()
			t.sendDue()
		}
	}
	t.settle()
}

// over reports whether the thread is done: sending has ended, and no answer is awaited.
func (t *thread) over() bool {
	c := t.schedule
	if c.abandoned.Load() {
		return true
	}
	end := c.end.Load()
	if t.now < end {
		return false
	}
	t.now = c.now()
	return t.outstanding == 0 || t.now >= end+int64(cmp.Or(t.patience, defaultPatience))
}

// settle counts requests without an answer and requests that were not sent.
func (t *thread) settle() {
	c := t.schedule
	if t.Rate > 0 {
		first := t.index
		if before := c.dueFrom - first; before > 0 { // were due in the warm-up
			first += (before + t.step - 1) / t.step * t.step
		}
		if to := min(c.dueTo, c.firstDue(c.end.Load())); first < to {
			t.result.Missed += uint64((to - first + t.step - 1) / t.step)
		}
	}
	if c.abandoned.Load() {
		return
	}
	for i := range t.conns {
		if c := &t.conns[i]; c.state == waiting {
			t.fail(c, "no answer")
		}
	}
}

// untilNext returns how long the thread may wait for answers before it must act, in nanoseconds
// from t.now.
func (t *thread) untilNext() int64 {
	next := t.now + int64(longWait)
	if t.resting.count > 0 {
		next = min(next, t.conns[t.resting.first()].wakes)
	}
	if end := t.schedule.end.Load(); t.now < end {
		next = min(next, end)
	}
	if t.Rate > 0 && t.free.count > 0 && t.index < t.schedule.dueTo {
		next = min(next, t.schedule.due(t.index))
	}
	return max(next-t.now, 0)
}

// turn waits for answers, for at most the given number of nanoseconds, and processes them.
func (t *thread) turn(wait int64) {
	spinning := false
	if t.sending && t.Rate > 0 && t.spin && t.free.count > 0 && wait > 0 {
		if wait > int64(spinTime) {
			wait -= int64(spinTime)
		} else {
			wait, spinning = 0, true
		}
	}
	n := t.wait(wait)
	if n == 0 && t.sending {
		now := t.schedule.now()
		if spinning {
			t.spun.Add(now - t.now)
		}
		t.now = now
	}
}

// sendDue sends the requests that are due, in order, while connections are free.
func (t *thread) sendDue() {
	c := t.schedule
	if t.index < c.dueFrom && t.now >= c.begin.Load() { // requests that the warm-up left over are not sent
		t.index += (c.dueFrom - t.index + t.step - 1) / t.step * t.step
	}
	for t.free.count > 0 && t.index < c.dueTo {
		due := c.due(t.index)
		if due > t.now || t.now >= c.end.Load() {
			return
		}
		i := t.free.take()
		conn := &t.conns[i]
		conn.queued = false
		if conn.state != idle {
			continue // the server has closed it
		}
		conn.counted = t.index >= c.dueFrom
		if conn.counted && t.now-due > int64(lateTime) {
			t.result.Late++
		}
		t.index += t.step
		t.transmit(i, conn, due)
		t.now = c.now()
	}
}

// begin locks the goroutine to its OS thread until both end, so that no other goroutine inherits the
// pinning.
func (t *thread) begin() {
	runtime.LockOSThread()
	if t.cpu >= 0 {
		if err := pinThread(t.cpu); err != nil {
			t.result.fail(err.Error(), 1)
		}
	}
	if t.Rate > 0 {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, sleeps last 50 µs longer; late sends are counted
	}
	t.tid.Store(int64(unix.Gettid()))
}

// end records the CPU time of the thread.
func (t *thread) end() {
	t.last.Store(int64(t.used()))
	t.tid.Store(0)
}

// used returns the processor time that the thread has used or waited for, without the time it spent
// waiting for the next send. Any goroutine may call it.
func (t *thread) used() time.Duration {
	tid := int(t.tid.Load())
	cpu, err := clockTime(tid, clockOfThread)
	if tid == 0 || err != nil {
		return time.Duration(t.last.Load()) // it has ended
	}
	return cpu + queuedOfThread(tid) - time.Duration(t.spun.Load())
}

// close closes all descriptors. It is called after send has returned, or without send.
func (t *thread) close() {
	for i := range t.conns {
		t.shut(i)
	}
	for _, fd := range []int{t.epoll.fd, t.epoll.alarm} {
		if fd >= 0 {
			_ = unix.Close(fd) // no written data can be lost
		}
	}
}

// ring is a queue of connections, in which each connection occurs at most once.
type ring struct {
	items        []int32
	start, count int
}

func (r *ring) room(n int) { r.items = make([]int32, n) }
func (r *ring) first() int { return int(r.items[r.start]) }

func (r *ring) add(i int) {
	at := r.start + r.count
	if at >= len(r.items) {
		at -= len(r.items)
	}
	r.items[at] = int32(i)
	r.count++
}

func (r *ring) take() int {
	i := r.items[r.start]
	if r.start++; r.start == len(r.items) {
		r.start = 0
	}
	r.count--
	return int(i)
}
