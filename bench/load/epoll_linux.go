package load

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threads returns how many threads the generator has, one for each of its CPUs, and whether they may
// spin. A thread that has a core to itself may. With a thread on every core, spinning would take time
// from the server.
func (l *Plan) threads() (n int, spin bool) {
	allowed := len(allowedCPUs())
	n = min(cmp.Or(len(l.CPUs), allowed, 1), l.Connections)
	return n, len(l.CPUs) > 0 || n < allowed
}

const (
	readSize  = 128 << 10
	batchSize = 256
)

// epoll has the sockets of a thread in a loop over epoll. Other threads read only the atomic fields.
type epoll struct {
	t       *thread
	sockets []socket
	cpu     int // the CPU that its thread is pinned to; -1 for none

	address unix.Sockaddr
	family  int
	fd      int
	alarm   int  // an eventfd, which stays readable until it is read
	coarse  bool // epoll_pwait2 is not available
	timeout timespec
	buf     []byte // the bytes that were read last, from any connection
	arrived []unix.EpollEvent
	seen    [16]seenHead // by request

	tid  atomic.Int64 // 0 before and after it runs
	last atomic.Int64 // CPU time used when it ended
}

// socket is one connection.
type socket struct {
	fd         int32
	generation int32 // changes with each fd, to recognize events for the previous one
	watched    bool  // for room to write, too
	request    []byte
	sent       int // bytes of the request that are written
	response   response
}

// openSockets opens the descriptors that a thread waits on. They must be closed even after an error.
func openSockets(t *thread, address *net.TCPAddr) (*epoll, error) {
	e := &epoll{t: t, sockets: make([]socket, len(t.conns)), cpu: -1, fd: -1, alarm: -1, buf: make([]byte, readSize), arrived: make([]unix.EpollEvent, batchSize)}
	for i := range e.sockets {
		e.sockets[i].fd = -1
	}
	if len(t.CPUs) > 0 {
		e.cpu = t.CPUs[t.index]
	}
	e.address, e.family = socketAddress(address)
	var err error
	if e.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return e, fmt.Errorf("load: epoll: %w", err)
	}
	if e.alarm, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return e, fmt.Errorf("load: eventfd: %w", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: alarmed}
	if err = unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, e.alarm, &event); err != nil {
		return e, fmt.Errorf("load: epoll: %w", err)
	}
	return e, nil
}

// alarmed identifies the eventfd among events; connections are identified by their number.
const alarmed = -1

func socketAddress(a *net.TCPAddr) (unix.Sockaddr, int) {
	if four := a.IP.To4(); four != nil {
		return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(four)}, unix.AF_INET
	}
	return &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}, unix.AF_INET6
}

// begin locks the goroutine to its OS thread until both end, so that no other goroutine inherits the
// pinning.
func (e *epoll) begin() {
	runtime.LockOSThread()
	if e.cpu >= 0 {
		if err := pinThread(e.cpu); err != nil {
			e.t.result.fail(err.Error(), 1)
		}
	}
	if e.t.Rate > 0 {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, sleeps last 50 µs longer; late sends are counted
	}
	e.tid.Store(int64(unix.Gettid()))
}

// end records the CPU time of the thread.
func (e *epoll) end() {
	e.last.Store(int64(e.used()))
	e.tid.Store(0)
}

// used returns the processor time that the thread has used or waited for. Any goroutine may call it.
func (e *epoll) used() time.Duration {
	tid := int(e.tid.Load())
	cpu, err := clockTime(tid, clockOfThread)
	if tid == 0 || err != nil {
		return time.Duration(e.last.Load()) // it has ended
	}
	return cpu + queuedOfThread(tid)
}

// dial begins to open a connection. The error comes with what has failed.
func (e *epoll) dial(i int) (what string, err error) {
	s := &e.sockets[i]
	fd, err := unix.Socket(e.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "socket", err
	}
	s.fd = int32(fd)
	s.generation++
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // TCP has this option
	if err := unix.Connect(fd, e.address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return "connect", err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT, Fd: int32(i), Pad: s.generation}
	s.watched = true
	return "epoll", unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &event)
}

// shut closes a connection, if it is open.
func (e *epoll) shut(i int) {
	if s := &e.sockets[i]; s.fd >= 0 {
		_ = unix.Close(int(s.fd)) // nothing that was written matters any more
		s.fd = -1
	}
}

// opened completes the opening of a connection.
func (e *epoll) opened(i int) {
	s := &e.sockets[i]
	code, err := unix.GetsockoptInt(int(s.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		err = e.watch(i, false)
	}
	if err != nil {
		e.t.unreachable(i, "connect", err)
		return
	}
	e.t.opened(i)
}

// watch has epoll report when there is something to read and, with write, when there is room to
// write.
func (e *epoll) watch(i int, write bool) error {
	s := &e.sockets[i]
	if s.watched == write {
		return nil
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i), Pad: s.generation}
	if write {
		event.Events |= unix.EPOLLOUT
	}
	s.watched = write
	return unix.EpollCtl(e.fd, unix.EPOLL_CTL_MOD, int(s.fd), &event)
}

// send sends a request, which must not change, on an open connection.
func (e *epoll) send(i int, request []byte) {
	s := &e.sockets[i]
	s.request, s.sent = request, 0
	s.response.reset(isHead(request))
	e.write(i)
}

// write writes the rest of a request, as far as there is room.
func (e *epoll) write(i int) {
	s := &e.sockets[i]
	for s.sent < len(s.request) {
		n, errno := writeNow(s.fd, s.request[s.sent:])
		switch errno {
		case 0:
			s.sent += n
		case unix.EINTR:
		case unix.EAGAIN:
			if err := e.watch(i, true); err != nil {
				e.t.broken(i, "epoll: "+reason(err))
			}
			return
		default:
			e.t.cut(i, s.response.begun(), errno)
			return
		}
	}
	if s.watched {
		if err := e.watch(i, false); err != nil {
			e.t.broken(i, "epoll: "+reason(err))
		}
	}
}

// read reads what has arrived on a connection.
func (e *epoll) read(i int) {
	t, s := e.t, &e.sockets[i]
	n, errno := readNow(s.fd, e.buf)
	t.now = t.schedule.now()
	c := &t.conns[i]
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR: // epoll reports it again
	case errno != 0:
		t.cut(i, s.response.begun(), errno)
	case n == 0:
		if err := s.response.end(); err != nil || c.state == idle {
			t.cut(i, s.response.begun(), err)
			return
		}
		t.served(i, &s.response, true)
	case c.state == idle:
		t.broken(i, "bytes that answer no request")
	default:
		done, err := s.response.accept(e.buf[:n], &e.seen[uint32(c.next)%uint32(len(e.seen))])
		if err != nil {
			t.broken(i, err.Error())
		} else if done {
			t.served(i, &s.response, s.sent < len(s.request))
		}
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

// wait takes events, after at most the given number of nanoseconds, and returns how many there were.
func (e *epoll) wait(nanoseconds int64) int {
	n := e.events(nanoseconds)
	for i := range n {
		event := &e.arrived[i]
		if event.Fd == alarmed {
			e.awake()
		} else if s := &e.sockets[event.Fd]; s.generation == event.Pad {
			e.take(int(event.Fd), event.Events)
		}
	}
	return n
}

// take handles an event on a connection.
func (e *epoll) take(i int, events uint32) {
	c := &e.t.conns[i]
	if c.state == opening {
		e.opened(i)
		return
	}
	if events&unix.EPOLLOUT != 0 && c.state == waiting {
		e.write(i)
	}
	if events&^unix.EPOLLOUT != 0 && c.state >= idle {
		e.read(i)
	}
}

// timespec is the kernel's timespec for epoll_pwait2, which has 64-bit fields on every processor.
type timespec struct{ seconds, nanoseconds int64 }

// events waits for events, for at most the given number of nanoseconds. The milliseconds of
// epoll_wait would be too coarse for a rate.
func (e *epoll) events(nanoseconds int64) int {
	if !e.coarse {
		e.timeout = timespec{nanoseconds / 1e9, nanoseconds % 1e9}
		call := unix.Syscall6
		if nanoseconds == 0 { // does not block, so Go's scheduler need not know
			call = unix.RawSyscall6
		}
		n, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.arrived[0])),
			uintptr(len(e.arrived)), uintptr(unsafe.Pointer(&e.timeout)), 0, 0)
		if errno == 0 {
			return int(n)
		}
		if errno != unix.ENOSYS && errno != unix.EPERM { // EPERM comes from the system call filter of a container
			return 0
		}
		e.coarse = true // Linux before 5.11
	}
	n, err := unix.EpollWait(e.fd, e.arrived, int(time.Duration(nanoseconds)/time.Millisecond))
	if err != nil {
		return 0
	}
	return n
}

// wake ends wait. Any goroutine may call it.
func (e *epoll) wake() {
	one := [8]byte{7: 1}               // any number but zero, in either byte order
	_, _ = unix.Write(e.alarm, one[:]) // it fails only if the counter is full, which also wakes
}

// awake resets the alarm. The loop then looks at the schedule.
func (e *epoll) awake() {
	var n [8]byte
	_, _ = unix.Read(e.alarm, n[:]) // the counter is not zero
	if e.t.sending {
		e.t.now = e.t.schedule.now()
	}
}

func (e *epoll) close() {
	for _, fd := range []*int{&e.fd, &e.alarm} {
		if *fd >= 0 {
			_ = unix.Close(*fd) // no written data can be lost
			*fd = -1
		}
	}
}
