package load

import (
	"fmt"
	"time"
)

// Usage contains the resources that a process has used.
type Usage struct {
	CPU      time.Duration // user and system, of all its threads since it started
	Resident uint64        // bytes of memory now
}

func gone(pid int) error { return fmt.Errorf("process %d: gone", pid) }
