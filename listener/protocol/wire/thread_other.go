//go:build !linux

package wire

import "time"

// threadTime returns 0: the CPU time of the current thread is not known.
func threadTime() time.Duration { return 0 }
