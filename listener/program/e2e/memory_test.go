//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// peakMemory returns the maximum memory usage of the program before it exited, in KiB. It is called
// while the program runs. On Linux the figure that the system reports at the end is at least the
// memory usage of the test itself when it started the program, so peakMemory polls while the
// program runs.
func peakMemory(p *Process) int64 {
	p.T.Helper()
	var most int64
	for ended := false; !ended; {
		select {
		case <-p.Exited:
			ended = true
		default:
			most = max(most, heldMemory(p))
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
func heldMemory(p *Process) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "\nVmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	held, _ := strconv.ParseInt(number, 10, 64) // a program that has exited does not report it
	return held
}

func TestConfig_AFileMadeToExhaustTheServerIsRefused(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // its memory is measured
	bomb := "- &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("- &a%d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	served := "- endpoint: {path: /a, response: {body: *a11}}\n"
	merges := "- &m0 {k: v}\n"
	for i := 1; i < 40; i++ {
		merges += fmt.Sprintf("- &m%d {<<: [*m%d, *m%d], k%d: v}\n", i, i-1, i-1, i)
	}
	for _, c := range []struct{ name, file, config string }{
		{"aliases of aliases of aliases", "mock.yml", bomb + served},
		{"merges of merges of merges", "mock.yml", merges},
		{"YAML lists nested without end", "mock.yml", strings.Repeat("[", 200_000)},
		{"JSON lists nested without end", "mock.json", strings.Repeat("[", 200_000)},
		{"JSON lists nested, and closed again", "mock.json", strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := harness.WriteFile(t, t.TempDir(), c.file, c.config)
			p := Launch(t, nil, "validate", "-c", file)
			took := peakMemory(p)
			if got := p.Exit(); got != 2 {
				t.Errorf("got exit code %d, want 2", got)
			}
			if first := append(p.Output(), "")[0]; !strings.HasPrefix(first, file+":") {
				t.Errorf("got %.200q, want the place in %s", first, file)
			}
			const most = 1 << 20 // KiB
			if took > most {
				t.Errorf("it took %d KiB of memory, want at most %d", took, most)
			}
		})
	}
}
