//go:build !unix

package dispatcher

import "time"

// cpuTime is what this process has used of the processors; not known here.
func cpuTime() time.Duration { return 0 }
