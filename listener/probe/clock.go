package probe

import (
	"context"
	"time"
)

// ticking returns a function that waits for the next of regular times, and reports whether
// it came: false once ctx is done. It may come up to a millisecond late, since a runtime
// with nothing else to do waits for its timers in whole milliseconds.
func ticking(ctx context.Context, every time.Duration) func() bool {
	ticker := time.NewTicker(every)
	context.AfterFunc(ctx, ticker.Stop)
	return func() bool {
		select {
		case <-ticker.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
