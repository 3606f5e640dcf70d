//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// apart puts a process into a group of its own: Ctrl-C of a terminal goes to bench,
// which then ends its servers, and not to them.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
