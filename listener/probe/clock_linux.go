package probe

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newClock is sleeping with a timer of the system, which is exact and wakes the poller as
// a request does, if there is one to be had.
func newClock(ctx context.Context) func(until time.Time) bool {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return sleeping(ctx)
	}
	timer := os.NewFile(uintptr(fd), "timer")
	context.AfterFunc(ctx, func() { _ = timer.Close() })
	raw, err := timer.SyscallConn()
	if err != nil {
		return sleeping(ctx)
	}
	var instead func(until time.Time) bool // of a timer that cannot be read, as in some sandboxes
	return func(until time.Time) bool {
		if instead != nil {
			return instead(until)
		}
		left := time.Until(until)
		if left <= 0 {
			return ctx.Err() == nil
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
		err := raw.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) }) // its arguments are valid
		if err == nil {
			var times [8]byte
			_, err = timer.Read(times[:])
		}
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		instead = sleeping(ctx)
		return instead(until)
	}
}
