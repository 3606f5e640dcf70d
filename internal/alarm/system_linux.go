package alarm

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// timerfd is a timer of Linux. It is set and waited for with raw system calls only, without the work that
// the runtime does around system calls that may take a long time: this work would wake the runtime's
// monitor, which then runs every 20 µs for a while.
type timerfd struct {
	file *os.File
	fd   int
	raw  syscall.RawConn
	read func(fd uintptr) bool
	err  error // error of the last read
}

func newSystem() system {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	t := &timerfd{file: os.NewFile(uintptr(fd), "timer"), fd: fd}
	if t.raw, err = t.file.SyscallConn(); err != nil {
		_ = t.file.Close()
		return nil
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
	return t
}

// Set cannot fail, since its arguments are valid.
func (t *timerfd) Set(after time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(after, 1)))} // 0 would disarm it
	_, _, _ = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(t.fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// Wait returns an error if the timer was closed, or cannot be read.
func (t *timerfd) Wait() error {
	if err := t.raw.Read(t.read); err != nil {
		return err
	}
	return t.err
}

// Close ends a wait.
func (t *timerfd) Close() error { return t.file.Close() }
