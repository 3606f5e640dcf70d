//go:build unix

package harness

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// MakePipe creates a named pipe.
func MakePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// PeakMemory returns the maximum memory usage of the program before it exited, in KiB. It is called
// while the program runs. On Linux the figure that the system reports at the end is at least the
// memory usage of the test itself when it started the program, so PeakMemory polls while the
// program runs.
func (p *Process) PeakMemory() int64 {
	p.T.Helper()
	var most int64
	for ended := false; !ended; {
		select {
		case <-p.Exited:
			ended = true
		default:
			most = max(most, p.heldMemory())
		}
	}
	if runtime.GOOS != "linux" {
		use, _ := p.Cmd.ProcessState.SysUsage().(*syscall.Rusage)
		most = int64(use.Maxrss)
		if runtime.GOOS == "darwin" { // in bytes on that system
			most >>= 10
		}
	}
	if most == 0 {
		p.T.Fatal("the system does not report how much memory the program used")
	}
	return most
}

// heldMemory returns the maximum memory usage of the program so far, in KiB; 0 if it is unknown.
func (p *Process) heldMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "\nVmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	held, _ := strconv.ParseInt(number, 10, 64) // a program that has exited does not report it
	return held
}

const executable = "" // the file name extension of programs

// lock acquires a lock that only one process can hold, and waits for it if necessary.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			return func() { _ = file.Close() }, err
		}
	}
}
