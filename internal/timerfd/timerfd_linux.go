// Package timerfd wakes a goroutine at a given time more precisely than the timers of the Go
// runtime, for which the runtime waits in whole milliseconds.
package timerfd

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Timer is a timer of the operating system. It is set and waited for with raw system calls only,
// without the work that the runtime does around system calls that may take a long time: this work
// would wake the runtime's monitor, which then runs every 20 µs for a while.
type Timer struct {
	file *os.File
	raw  syscall.RawConn
	read func(fd uintptr) bool
	err  error // error of the last read

	mu     sync.Mutex // guards the fields below
	fd     int
	closed bool
}

// New returns a timer that is not set.
func New() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	t := &Timer{file: os.NewFile(uintptr(fd), "timer"), fd: fd}
	if t.raw, err = t.file.SyscallConn(); err != nil {
		_ = t.file.Close()
		return nil, err
	}
	var times [8]byte
	t.read = func(fd uintptr) bool {
		_, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), uintptr(len(times)))
		if errno == unix.EAGAIN || errno == unix.EINTR {
			return false
		}
		t.err = nil
		if errno != 0 {
			t.err = os.NewSyscallError("read", errno)
		}
		return true
	}
	return t, nil
}

// Set sets the timer to expire once after a duration, replacing any earlier setting. It may be
// called from any goroutine. It has no effect on a closed timer.
func (t *Timer) Set(after time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(after, 1)))} // 0 would disarm it
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed { // the call cannot fail, since its arguments are valid
		_, _, _ = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(t.fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	}
}

// Wait waits until the timer has expired since the last wait. It returns os.ErrClosed after the
// timer has been closed, and another error if the timer cannot be read, as in some sandboxes. Only
// one goroutine may wait.
func (t *Timer) Wait() error {
	if err := t.raw.Read(t.read); err != nil {
		return os.ErrClosed
	}
	return t.err
}

// Close closes the timer and ends a wait for it.
func (t *Timer) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.file.Close()
}
