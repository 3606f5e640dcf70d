//go:build unix

package main

import (
	"runtime"
	"syscall"
	"testing"
)

// makePipe makes a named pipe.
func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// peakMemory is the most memory that the program held before it ended, in KiB.
func (p *process) peakMemory() int64 {
	p.t.Helper()
	use, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || use.Maxrss == 0 {
		p.t.Fatal("the system does not say how much memory it took")
	}
	if runtime.GOOS == "darwin" { // there it is bytes
		return int64(use.Maxrss) >> 10
	}
	return int64(use.Maxrss)
}
