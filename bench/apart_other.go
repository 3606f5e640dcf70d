//go:build !unix

package bench

import (
	"os"
	"os/exec"
)

// apart does nothing where the system has no process groups.
func apart(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() } // it may be gone
