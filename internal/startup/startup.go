// Package startup delays the garbage collector until all packages are initialized. What the
// initializers of libraries allocate is kept anyway, and collecting garbage meanwhile takes a
// quarter of the CPU time of a start.
package startup

import "runtime/debug"

var percent = debug.SetGCPercent(-1)

// Done lets the garbage collector run as GOGC says. main calls it first.
func Done() { debug.SetGCPercent(percent) }
