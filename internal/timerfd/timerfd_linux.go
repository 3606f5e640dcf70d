// Package timerfd wakes a goroutine at a time more exactly than the runtime's own timers,
// which it waits for in whole milliseconds.
package timerfd

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Timer is a timer of the system's. It is set and waited for by system calls alone, without
// what the runtime does around those that may take long: that would wake its monitor, which
// then runs every 20 µs for a while.
type Timer struct {
	file *os.File
	raw  syscall.RawConn
	read func(fd uintptr) bool
	err  error // of the last read

	mu     sync.Mutex // guards what follows
	fd     int
	closed bool
}

// New makes a timer that is not set.
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

// Set sets the timer to go off once after a time, in place of what it was set to. Any
// goroutine may do so. A closed timer ignores it.
func (t *Timer) Set(after time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(after, 1)))} // 0 would unset it
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed { // its arguments are valid
		_, _, _ = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(t.fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	}
}

// Wait waits until the timer has gone off since the last wait. It fails with os.ErrClosed
// once the timer is closed, and otherwise where it cannot be read, as in some sandboxes.
// Only one goroutine may wait.
func (t *Timer) Wait() error {
	if err := t.raw.Read(t.read); err != nil {
		return os.ErrClosed
	}
	return t.err
}

// Close ends the timer, and a wait for it.
func (t *Timer) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.file.Close()
}
