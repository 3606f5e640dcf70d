//go:build !linux

package bench

import (
	"os/exec"
	"runtime"
)

// place pins nothing: only Linux is told which CPUs to use.
func place(int) placement {
	return placement{why: "nothing is pinned on " + runtime.GOOS + ": server and generator share the CPUs"}
}

// startOn starts a program. CPUs are for Linux.
func startOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }
