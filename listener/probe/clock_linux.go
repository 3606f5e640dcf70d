package probe

import (
	"context"
	"time"

	"mockserver/internal/timerfd"
)

// newClock is sleeping with a timer of the system, which is exact and wakes the poller as
// a request does, if there is one to be had.
func newClock(ctx context.Context) func(until time.Time) bool {
	timer, err := timerfd.New()
	if err != nil {
		return sleeping(ctx)
	}
	context.AfterFunc(ctx, func() { _ = timer.Close() })
	var instead func(until time.Time) bool // of a timer that cannot be read
	return func(until time.Time) bool {
		if instead != nil {
			return instead(until)
		}
		left := time.Until(until)
		if left <= 0 {
			return ctx.Err() == nil
		}
		timer.Set(left)
		if err := timer.Wait(); err == nil || ctx.Err() != nil {
			return err == nil
		}
		instead = sleeping(ctx)
		return instead(until)
	}
}
