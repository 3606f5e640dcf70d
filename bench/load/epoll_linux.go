package load

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readSize  = 128 << 10
	batchSize = 256
)

// epoll is what a thread waits on.
type epoll struct {
	fd      int
	alarm   int  // an eventfd, which stays readable until it is read
	coarse  bool // epoll_pwait2 is not available
	timeout timespec
	buf     []byte // the bytes that were read last, from any connection
	arrived []unix.EpollEvent
}

// open opens the descriptors. They must be closed even after an error.
func (e *epoll) open() (err error) {
	e.fd, e.alarm, e.buf, e.arrived = -1, -1, make([]byte, readSize), make([]unix.EpollEvent, batchSize)
	if e.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		e.alarm, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err == nil {
		err = unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, e.alarm, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: alarmed})
	}
	if err != nil {
		err = fmt.Errorf("load: epoll: %w", err)
	}
	return err
}

// alarmed identifies the eventfd among events; connections are identified by their number.
const alarmed = -1

// watch has epoll report when there is something to read and, with write, when there is room to
// write.
func (t *thread) watch(i int, write bool) error {
	c := &t.conns[i]
	if c.watched == write {
		return nil
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i), Pad: c.generation}
	if write {
		event.Events |= unix.EPOLLOUT
	}
	c.watched = write
	return unix.EpollCtl(t.epoll.fd, unix.EPOLL_CTL_MOD, int(c.fd), &event)
}

// write writes the rest of a request, as far as there is room.
func (t *thread) write(i int) {
	c := &t.conns[i]
	for c.sent < len(c.request) {
		n, errno := writeNow(c.fd, c.request[c.sent:])
		switch errno {
		case 0:
			c.sent += n
		case unix.EINTR:
		case unix.EAGAIN:
			if err := t.watch(i, true); err != nil {
				t.broken(i, "epoll: "+reason(err))
			}
			return
		default:
			t.cut(i, errno)
			return
		}
	}
	if err := t.watch(i, false); err != nil {
		t.broken(i, "epoll: "+reason(err))
	}
}

// read reads what has arrived on a connection.
func (t *thread) read(i int) {
	c := &t.conns[i]
	n, errno := readNow(c.fd, t.epoll.buf)
	t.now = t.schedule.now()
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR: // epoll reports it again
	case errno != 0:
		t.cut(i, errno)
	case n == 0:
		if err := c.response.end(); err != nil || c.state == idle {
			t.cut(i, err)
			return
		}
		t.served(i, true)
	case c.state == idle:
		t.broken(i, "bytes that answer no request")
	default:
		done, err := c.response.accept(t.epoll.buf[:n], &t.seen[uint32(c.next)%uint32(len(t.seen))])
		if err == nil && t.Wants[c.next].Items > 0 {
			t.counted(c)
		}
		if err != nil {
			t.broken(i, err.Error())
		} else if done {
			t.served(i, c.sent < len(c.request))
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
func (t *thread) wait(nanoseconds int64) int {
	n := t.epoll.events(nanoseconds)
	for i := range n {
		event := &t.epoll.arrived[i]
		if event.Fd != alarmed {
			if t.conns[event.Fd].generation == event.Pad {
				t.take(int(event.Fd), event.Events)
			}
			continue
		}
		var reset [8]byte
		_, _ = unix.Read(t.epoll.alarm, reset[:]) // the counter is not zero
		if t.sending {
			t.now = t.schedule.now()
		}
	}
	return n
}

// take handles an event on a connection.
func (t *thread) take(i int, events uint32) {
	c := &t.conns[i]
	if c.state == opening {
		t.opened(i)
		return
	}
	if events&unix.EPOLLOUT != 0 && c.state == waiting {
		t.write(i)
	}
	if events&^unix.EPOLLOUT != 0 && c.state >= idle {
		t.read(i)
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
