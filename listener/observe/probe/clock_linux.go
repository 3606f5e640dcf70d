package probe

import (
	"context"
	"time"

	"mockserver/internal/timerfd"
)

// newClock does the same as sleeping, but with a system timer if one is available. That timer is
// exact and wakes the poller as a request does.
func newClock(ctx context.Context) func(until time.Time) bool {
	timer, err := timerfd.New()
	if err != nil {
		return sleeping(ctx)
	}
	context.AfterFunc(ctx, func() { _ = timer.Close() })
	var instead func(until time.Time) bool // replaces a timer that cannot be read
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
