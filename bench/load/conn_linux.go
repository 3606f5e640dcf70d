package load

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// conn is one connection of a thread.
type conn struct {
	fd         int32
	generation int32 // changes with each fd, to recognize events for the previous one
	state      connState
	watched    bool  // for room to write, too
	counted    bool  // with a rate: the request in flight counts
	queued     bool  // in the queue of free connections
	next       int32 // the request that is sent next, or is in flight
	sent       int   // bytes of the request that are written
	from       int64 // when its latency begins
	wakes      int64 // when a resting connection is opened again
	answer     answer
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
	fd, err := unix.Socket(t.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.unreachable(i, "socket", err)
		return
	}
	c.fd = int32(fd)
	c.generation++
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // TCP has this option
	if err := unix.Connect(fd, t.address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		t.unreachable(i, "connect", err)
		return
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT, Fd: int32(i), Pad: c.generation}
	if err := unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		t.unreachable(i, "epoll", err)
		return
	}
	c.state, c.watched = opening, true
	t.opening++
}

// unreachable closes a connection that could not be opened. While the thread sends, unreachable
// also counts the failure and schedules another try.
func (t *thread) unreachable(i int, what string, err error) {
	c := &t.conns[i]
	t.shut(c)
	t.failure = errors.New(reason(err))
	if t.sending {
		if t.schedule.counts(t.now) {
			t.result.fail(what+": "+reason(err), 1)
		}
		t.rest(i)
	}
}

// shut closes a connection.
func (t *thread) shut(c *conn) {
	switch c.state {
	case opening:
		t.opening--
	case waiting:
		t.outstanding--
	}
	if c.fd >= 0 {
		_ = unix.Close(int(c.fd)) // nothing that was written matters any more
	}
	c.fd, c.state = -1, shut
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

// take handles an event on a connection.
func (t *thread) take(i int, c *conn, events uint32) {
	if c.state == opening {
		t.opened(i, c)
		return
	}
	if events&unix.EPOLLOUT != 0 && c.state == waiting {
		t.write(i, c)
	}
	if events&^unix.EPOLLOUT != 0 && c.state >= idle {
		t.read(i, c)
	}
}

// opened completes the opening of a connection.
func (t *thread) opened(i int, c *conn) {
	code, err := unix.GetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		err = t.watch(i, c, false)
	}
	if err != nil {
		t.unreachable(i, "connect", err)
		return
	}
	t.opening--
	t.established++
	c.state = idle
	if t.sending {
		t.now = t.schedule.now()
		t.ready(i)
	}
}

// watch has epoll report when there is something to read and, with write, when there is room to
// write.
func (t *thread) watch(i int, c *conn, write bool) error {
	if c.watched == write {
		return nil
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i), Pad: c.generation}
	if write {
		event.Events |= unix.EPOLLOUT
	}
	c.watched = write
	return unix.EpollCtl(t.epoll, unix.EPOLL_CTL_MOD, int(c.fd), &event)
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
	c.state = waiting
	t.outstanding++
	c.sent, c.from = 0, from
	request := t.Requests[c.next]
	c.answer.reset(isHead(request))
	t.write(i, c)
}

// write writes the rest of a request, as far as there is room.
func (t *thread) write(i int, c *conn) {
	request := t.Requests[c.next]
	for c.sent < len(request) {
		n, errno := writeNow(c.fd, request[c.sent:])
		switch errno {
		case 0:
			c.sent += n
		case unix.EINTR:
		case unix.EAGAIN:
			if err := t.watch(i, c, true); err != nil {
				t.broken(i, c, "epoll: "+reason(err))
			}
			return
		default:
			t.cut(i, c, errno)
			return
		}
	}
	if c.watched {
		if err := t.watch(i, c, false); err != nil {
			t.broken(i, c, "epoll: "+reason(err))
		}
	}
}

// read reads what has arrived on a connection.
func (t *thread) read(i int, c *conn) {
	n, errno := readNow(c.fd, t.buf)
	t.now = t.schedule.now()
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return // epoll reports it again
	case errno != 0:
		t.cut(i, c, errno)
		return
	case n == 0:
		t.ended(i, c)
		return
	}
	if c.state == idle {
		t.broken(i, c, "bytes that answer no request")
		return
	}
	done, err := c.answer.accept(t.buf[:n], &t.seen[uint32(c.next)%uint32(len(t.seen))])
	if err != nil {
		t.broken(i, c, err.Error())
		return
	}
	if done {
		t.answered(i, c)
	}
}

// answered processes a complete answer and continues with the next request.
func (t *thread) answered(i int, c *conn) {
	a := &c.answer
	t.outstanding--
	c.state = idle
	if unlike := t.Wants[c.next].unlike(a.head.Status, a.size); unlike != "" {
		t.fail(c, unlike)
	} else if t.Rate == 0 && t.schedule.counts(t.now) || t.Rate > 0 && c.counted {
		t.result.answered(t.now - c.from)
	}
	whole := c.sent == len(t.Requests[c.next])
	if c.next++; int(c.next) == len(t.Requests) {
		c.next = 0
	}
	if a.head.Closes || !whole || a.head.Status == 101 {
		t.shut(c)
		if !t.schedule.over(t.now) {
			t.dial(i)
		}
		return
	}
	t.ready(i)
}

// ended handles the end of a connection. The server may close an idle one at any time.
func (t *thread) ended(i int, c *conn) {
	if c.state == idle {
		t.shut(c)
		t.rest(i)
		return
	}
	if err := c.answer.end(); err != nil {
		t.broken(i, c, err.Error())
		return
	}
	t.answered(i, c)
}

// cut handles an error on a connection. The error is not counted if the connection is idle.
func (t *thread) cut(i int, c *conn, err error) {
	if c.state == idle {
		t.shut(c)
		t.rest(i)
		return
	}
	switch {
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		t.broken(i, c, resetByServer)
	default:
		t.broken(i, c, reason(err))
	}
}

// broken counts an error and closes the connection. A request in flight is not sent again.
func (t *thread) broken(i int, c *conn, kind string) {
	t.fail(c, kind)
	if c.state == waiting {
		if c.next++; int(c.next) == len(t.Requests) {
			c.next = 0
		}
	}
	t.shut(c)
	t.rest(i)
}

// fail counts an error if its request counts. Without a rate, a request counts if it was in flight
// during the counted time.
func (t *thread) fail(c *conn, kind string) {
	if t.Rate > 0 && c.counted || t.Rate == 0 && t.now >= t.schedule.begin.Load() {
		t.result.fail(kind, 1)
	}
}

// readNow and writeNow make system calls without Go's scheduler: the sockets never block, and the
// two calls into the scheduler cost as much as the parsing.
func readNow(fd int32, buf []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	return int(n), errno
}

func writeNow(fd int32, data []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// timespec is the kernel's timespec for epoll_pwait2, which has 64-bit fields on every processor.
type timespec struct{ seconds, nanoseconds int64 }

// wait waits for events, for at most the given number of nanoseconds. The milliseconds of
// epoll_wait would be too coarse for a rate.
func (t *thread) wait(nanoseconds int64) int {
	if !t.coarse {
		t.timeout = timespec{nanoseconds / 1e9, nanoseconds % 1e9}
		var n uintptr
		var errno unix.Errno
		if nanoseconds == 0 { // does not block, so Go's scheduler need not know
			n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(t.epoll), uintptr(unsafe.Pointer(&t.arrived[0])),
				uintptr(len(t.arrived)), uintptr(unsafe.Pointer(&t.timeout)), 0, 0)
		} else {
			n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(t.epoll), uintptr(unsafe.Pointer(&t.arrived[0])),
				uintptr(len(t.arrived)), uintptr(unsafe.Pointer(&t.timeout)), 0, 0)
		}
		if errno == 0 {
			return int(n)
		}
		if errno != unix.ENOSYS && errno != unix.EPERM { // EPERM comes from the system call filter of a container
			return 0
		}
		t.coarse = true // Linux before 5.11
	}
	n, err := unix.EpollWait(t.epoll, t.arrived, int(time.Duration(nanoseconds)/time.Millisecond))
	if err != nil {
		return 0
	}
	return n
}
