//go:build unix

package bench

import (
	"os"
	"os/exec"
	"syscall"
)

// apart puts a process into a group of its own, so that Ctrl-C in a terminal reaches only bench,
// which then ends its servers.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process that was put apart, and those that it has started.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // they may be gone
