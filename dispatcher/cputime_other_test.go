//go:build !unix

package dispatcher

import "time"

// cpuTime returns the CPU time that this process has used, which is unknown on this system.
func cpuTime() time.Duration { return 0 }
