package bench

import (
	"fmt"
	"time"
)

// usage is what a process has used, as far as the system tells.
type usage struct {
	cpu         time.Duration // user and system, of all its threads since it started
	resident    uint64        // bytes of memory now
	peak        uint64        // the most there ever were; 0 is not known
	threads     int
	descriptors int // open; -1 is not known, as of another user's process
}

func gone(pid int) error { return fmt.Errorf("process %d: gone", pid) }
