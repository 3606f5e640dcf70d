package load

import (
	"bytes"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// conn is one connection of a thread.
type conn struct {
	state   connState
	counted bool  // with a rate: the request in flight counts
	queued  bool  // in the queue of free connections
	watched bool  // for room to write, too
	next    int32 // the request that is sent next, or is in flight
	from    int64 // when its latency begins
	wakes   int64 // when a resting connection is opened again

	fd         int32 // -1 if it is shut
	generation int32 // changes with each fd, to recognize events for the previous one
	request    []byte
	sent       int // bytes of the request that are written
	response   response
	items      int // of its stream that have arrived
}

type connState uint8

const (
	shut connState = iota
	opening
	idle
	waiting // for an answer; its request may not be fully written
)

// dial begins to open a connection.
func (t *thread) dial(i int) {
	c := &t.conns[i]
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.unreachable(i, "socket", err)
		return
	}
	c.fd, c.watched = int32(fd), true
	c.generation++
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // TCP has this option
	if err := unix.Connect(fd, t.address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		t.unreachable(i, "connect", err)
		return
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT, Fd: int32(i), Pad: c.generation}
	if err := unix.EpollCtl(t.epoll.fd, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		t.unreachable(i, "epoll", err)
		return
	}
	c.state = opening
	t.opening++
}

// unreachable closes a connection that could not be opened. While the thread sends, unreachable
// also counts the failure and schedules another try.
func (t *thread) unreachable(i int, what string, err error) {
	t.shut(i)
	t.failure = errors.New(reason(err))
	if t.sending {
		if t.schedule.counts(t.now) {
			t.result.fail(what+": "+reason(err), 1)
		}
		t.rest(i)
	}
}

// shut closes a connection.
func (t *thread) shut(i int) {
	c := &t.conns[i]
	if c.state == opening {
		t.opening--
	}
	if c.state == waiting {
		t.outstanding--
	}
	if c.fd >= 0 {
		_ = unix.Close(int(c.fd)) // nothing that was written matters any more
	}
	c.state, c.fd = shut, -1
}

// rest schedules the reopening of a connection.
func (t *thread) rest(i int) {
	t.conns[i].wakes = t.now + int64(restTime)
	t.resting.add(i)
}

// reopen opens connections that have rested.
func (t *thread) reopen() {
	for t.resting.count > 0 && !t.schedule.over(t.now) && t.conns[t.resting.first()].wakes <= t.now {
		t.dial(t.resting.take())
	}
}

// opened completes the opening of a connection.
func (t *thread) opened(i int) {
	c := &t.conns[i]
	code, err := unix.GetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		err = t.watch(i, false)
	}
	if err != nil {
		t.unreachable(i, "connect", err)
		return
	}
	t.opening--
	t.established++
	c.state = idle
	if !t.sending {
		return
	}
	t.now = t.schedule.now()
	t.ready(i)
}

// ready puts a connection without a request to use.
func (t *thread) ready(i int) {
	c := &t.conns[i]
	if t.Rate == 0 {
		if !t.schedule.over(t.now) {
			t.transmit(i, c, t.now)
		}
		return
	}
	if !c.queued {
		c.queued = true
		t.free.add(i)
	}
	t.sendDue()
}

// transmit sends a connection's next request, whose latency counts from the given time.
func (t *thread) transmit(i int, c *conn, from int64) {
	c.state, c.from = waiting, from
	t.outstanding++
	c.request, c.sent, c.items = t.Requests[c.next], 0, 0
	c.response.reset(bytes.HasPrefix(c.request, []byte("HEAD ")))
	t.write(i)
}

// served processes a complete answer and continues with the next request, on another connection if
// this one closes.
func (t *thread) served(i int, closes bool) {
	c := &t.conns[i]
	a := &c.response
	t.outstanding--
	c.state = idle
	if unlike := t.Wants[c.next].unlike(a.head.Status, a.size); unlike != "" {
		t.fail(c, unlike)
	} else if t.Wants[c.next].Items > 0 {
		// its items were counted
	} else if t.Rate == 0 && t.schedule.counts(t.now) || t.Rate > 0 && c.counted {
		t.result.served(t.now - c.from)
	}
	t.advance(c)
	if closes || a.head.Closes || a.head.Status == 101 {
		t.shut(i)
		if !t.schedule.over(t.now) {
			t.dial(i)
		}
		return
	}
	t.ready(i)
}

// counted counts the items of a stream that have arrived by now.
func (t *thread) counted(c *conn) {
	w := &t.Wants[c.next]
	for c.response.headed && c.items < w.Items && c.response.size*int64(w.Items) >= int64(w.Length)*int64(c.items+1) {
		c.items++
		if t.schedule.counts(t.now) {
			t.result.served(max(t.now-c.from-int64(w.Gap)*int64(c.items), 0))
		}
	}
}

// advance selects the next request of a connection.
func (t *thread) advance(c *conn) { c.next = (c.next + 1) % int32(len(t.Requests)) }

// cut handles an error on a connection. The server may close an idle connection at any time.
func (t *thread) cut(i int, err error) {
	c := &t.conns[i]
	switch {
	case c.state == idle:
		t.shut(i)
		t.rest(i)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		t.broken(i, "reset by the server")
	default:
		t.broken(i, reason(err))
	}
}

// broken counts an error and closes the connection. A request in flight is not sent again.
func (t *thread) broken(i int, kind string) {
	c := &t.conns[i]
	t.fail(c, kind)
	if c.state == waiting {
		t.advance(c)
	}
	t.shut(i)
	t.rest(i)
}

// fail counts an error if its request counts. Without a rate, a request counts if it was in flight
// during the counted time.
func (t *thread) fail(c *conn, kind string) {
	if t.Rate > 0 && c.counted || t.Rate == 0 && t.now >= t.schedule.begin.Load() {
		t.result.fail(kind, 1)
	}
}
