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

// MakePipe makes a named pipe.
func MakePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// PeakMemory is the most memory that the program held before it ended, in KiB. It is
// called while the program runs. On Linux what the system says at the end is no less than
// what the test itself held when it started the program, so it is asked all along.
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
		if runtime.GOOS == "darwin" { // there it is bytes
			most >>= 10
		}
	}
	if most == 0 {
		p.T.Fatal("the system does not say how much memory it took")
	}
	return most
}

// heldMemory is the most that the program held so far; 0 when it is not known.
func (p *Process) heldMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(status), "\nVmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(behind), " ")
	held, _ := strconv.ParseInt(number, 10, 64) // a program that has ended says nothing
	return held
}

const executable = "" // the extension of programs

// lock waits for a lock that other processes hold, and takes it.
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
