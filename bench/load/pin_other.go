//go:build !linux

package load

import (
	"os/exec"
	"runtime"
)

// Place pins nothing: only Linux is told which CPUs to use.
func Place() Placement {
	return Placement{Why: "nothing is pinned on " + runtime.GOOS + ": server and generator share the CPUs"}
}

// StartOn starts a program. CPUs are for Linux.
func StartOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }
