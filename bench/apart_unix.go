//go:build unix

package bench

import (
	"os"
	"os/exec"
	"syscall"
)

// apart puts a process into its own process group, so that Ctrl-C in a terminal reaches only bench,
// which then stops its servers.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process that was put into its own group, and the processes that it has started.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // they may be gone
