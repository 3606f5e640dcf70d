package e2e_test

import (
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mockserver/config/settings"
	"mockserver/internal/harness"
	"mockserver/listener/program"
)

// Most programs run in the process of the tests: a start then takes a few milliseconds, and the race
// detector sees the program. If MOCKSERVER_PROCESS_TESTS is 1, every program has a process of its
// own.

// inside runs the program in the process of the tests, and returns its exit code. Of two variables
// with the same name in environ, the second counts.
func inside(args, environ []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	env := func(name string) (value string, found bool) {
		for _, variable := range environ {
			if n, v, _ := strings.Cut(variable, "="); n == name {
				value, found = v, true
			}
		}
		return value, found
	}
	return program.Run(program.Process{
		Args: args, Env: env, Environ: environ, Signals: signals,
		Stdin: os.Stdin, Stdout: stdout, Stderr: stderr, Build: settings.ThisBuild("", ""),
	})
}

var alone sync.Map // names of tests whose programs have processes of their own

// NeedsProcess gives the programs that the test starts from now on, also in its subtests, processes
// of their own: for tests that measure or kill them, or limit what they may use.
func NeedsProcess(t *testing.T) {
	t.Helper()
	alone.Store(t.Name(), true)
}

// pid returns the id of the program's own process.
func (p *Process) pid() int {
	p.T.Helper()
	if p.Cmd == nil {
		p.T.Fatal("the program has no process of its own: call NeedsProcess before it starts")
	}
	return p.Cmd.Process.Pid
}

// RunsInside reports whether Launch runs programs in the process of the test.
func RunsInside(t *testing.T) bool {
	if os.Getenv("MOCKSERVER_PROCESS_TESTS") == "1" {
		return false
	}
	for name := t.Name(); name != ""; {
		if _, found := alone.Load(name); found {
			return false
		}
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return true
}

// lastWord is how long a program may take to stop after the first signal at the end of a test. A
// second signal then stops it at once.
const lastWord = 1500 * time.Millisecond

func launchInside(t *testing.T, environ, args []string) *Process {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips tests that run the program")
	}
	p := &Process{T: t, plain: newClient(), Ended: make(chan struct{}), Exited: make(chan struct{}), More: make(chan struct{}), signals: make(chan os.Signal, 4)}
	p.client = p.plain
	stdoutRead, stdout := io.Pipe()
	stderrRead, stderr := io.Pipe()
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdoutRead, &p.Stdout) })
	readers.Go(func() { p.read(stderrRead, &p.Stderr) })
	go func() {
		p.code = inside(args, environ, p.signals, stdout, stderr)
		_ = stdout.Close() // closing a pipe never fails
		_ = stderr.Close()
		close(p.Ended)
		readers.Wait()
		close(p.Exited)
	}()
	t.Cleanup(func() {
		p.plain.CloseIdleConnections() // otherwise the program waits for them
		p.stopInside()
		p.explain(append([]string{"mockserver"}, args...))
	})
	return p
}

func (p *Process) stopInside() {
	for _, patience := range []time.Duration{lastWord, harness.Patience} {
		select {
		case <-p.Exited:
			return
		case p.signals <- syscall.SIGTERM:
		default: // it has not read the earlier ones
		}
		select {
		case <-p.Exited:
			return
		case <-time.After(patience):
		}
	}
	p.T.Errorf("the program does not stop")
}
