package wire

import (
	"fmt"
	"syscall"
)

// errKept is the error of accepting while descriptors are kept for others.
var errKept = fmt.Errorf("too many open files: those that are left are kept for the admin address and for webhooks: %w", syscall.EMFILE)
