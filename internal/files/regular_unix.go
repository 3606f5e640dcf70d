//go:build unix

package files

import "syscall"

// openFlags keep an open from waiting: a pipe put in a file's place between the
// look and the open would wait for a writer.
const openFlags = syscall.O_RDONLY | syscall.O_NONBLOCK
