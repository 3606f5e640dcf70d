//go:build !linux

package probe

import (
	"context"
	"time"
)

func newClock(ctx context.Context, every time.Duration) func() bool { return ticking(ctx, every) }
