//go:build !linux

package load

import (
	"errors"
	"net"
	"os/exec"
	"runtime"
	"time"
)

// threads returns that one thread has all connections.
func (l *Plan) threads() (n int, spin bool) { return 1, false }

func openSockets(t *thread, address *net.TCPAddr) (sockets, error) {
	return newMembers(t, address), nil
}

// Place reserves no CPUs: pinning is implemented only on Linux.
func Place() Placement {
	return Placement{Why: "nothing is pinned on " + runtime.GOOS + ", and CPU time is not measured: server and generator share the CPUs"}
}

// StartOn starts a program. It ignores the CPUs, which are used only on Linux.
func StartOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }

// CPUOf returns an error: processor time is read only on Linux.
func CPUOf(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// FamilyOf returns nothing: processes are read only on Linux.
func FamilyOf(int) []int { return nil }

// UsageOf returns an error: usage is read only on Linux.
func UsageOf(int) (Usage, error) { return Usage{}, errors.ErrUnsupported }
