//go:build !linux

package load

import (
	"os/exec"
	"runtime"
)

// Place reserves no CPUs: pinning is implemented only on Linux.
func Place() Placement {
	return Placement{Why: "nothing is pinned on " + runtime.GOOS + ": server and generator share the CPUs"}
}

// StartOn starts a program. It ignores the CPUs, which are used only on Linux.
func StartOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }
