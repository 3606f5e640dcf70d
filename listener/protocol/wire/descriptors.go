package wire

import (
	"fmt"
	"syscall"
)

// errReserved means that no connection can be accepted because only reserved descriptors are left.
var errReserved = fmt.Errorf("too many open files: the remaining descriptors are reserved for the admin address and webhooks: %w", syscall.EMFILE)
