//go:build unix

package files

import "syscall"

// openFlags prevent an open from blocking: a pipe that replaces the file between the check and the
// open would wait for a writer.
const openFlags = syscall.O_RDONLY | syscall.O_NONBLOCK
