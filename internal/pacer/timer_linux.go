package pacer

import "mockserver/internal/timerfd"

func newTimer() timer {
	if t, err := timerfd.New(); err == nil {
		return t
	}
	return newRuntimeTimer()
}
