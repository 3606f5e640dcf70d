package probe

import (
	"context"
	"time"
)

// sleeping returns a function that waits until a time, and reports whether that time was reached;
// it reports false once ctx is done. It may return up to a millisecond late, since an idle runtime
// waits for timers in whole milliseconds.
func sleeping(ctx context.Context) func(until time.Time) bool {
	timer := time.NewTimer(0)
	context.AfterFunc(ctx, func() { timer.Stop() })
	return func(until time.Time) bool {
		timer.Reset(time.Until(until))
		select {
		case <-timer.C:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
}
