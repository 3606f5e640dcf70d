package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the CPU time of the current thread; 0 if it is unknown.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
