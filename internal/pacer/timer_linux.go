package pacer

import "mockserver/internal/timerfd"

func newTimer() (timer, error) {
	t, err := timerfd.New()
	return t, err
}
