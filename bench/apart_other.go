//go:build !unix

package bench

import (
	"os"
	"os/exec"
)

// apart does nothing where there are no groups of processes.
func apart(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() } // it may be gone
