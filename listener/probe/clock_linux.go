package probe

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newClock is ticking with a timer of the system, which is exact, if there is one to be
// had.
func newClock(ctx context.Context, every time.Duration) func() bool {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return ticking(ctx, every)
	}
	timer := os.NewFile(uintptr(fd), "timer")
	context.AfterFunc(ctx, func() { _ = timer.Close() })
	step := unix.NsecToTimespec(int64(every))
	_ = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: step, Value: step}, nil) // its arguments are valid
	return func() bool {
		var times [8]byte
		_, err := timer.Read(times[:])
		return err == nil
	}
}
