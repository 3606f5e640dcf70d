package wire

import (
	"fmt"
	"syscall"
)

// errReserved is the error that accepting returns while only reserved descriptors are left.
var errReserved = fmt.Errorf("too many open files: the remaining descriptors are reserved for the admin address and webhooks: %w", syscall.EMFILE)
