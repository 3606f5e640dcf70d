//go:build !linux

package probe

import (
	"context"
	"time"
)

func newClock(ctx context.Context) func(until time.Time) bool { return sleeping(ctx) }
