package harness

import (
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Inside runs the program in the process of the tests, and returns its exit code. A package whose
// tests start the program often, and are about what it does rather than about its process, sets
// Inside in TestMain: a start then takes a few milliseconds, and the race detector sees the
// program. If Inside is nil, or MOCKSERVER_PROCESS_TESTS is 1, every program has a process of its
// own.
var Inside func(Invocation) int

// Invocation contains what a program otherwise gets from its process.
type Invocation struct {
	Args    []string
	Environ []string // "NAME=value"; of two with the same name, the second counts
	Signals <-chan os.Signal
	Stdout  io.Writer
	Stderr  io.Writer
}

// Env returns the value of an environment variable.
func (i Invocation) Env(name string) (value string, found bool) {
	for _, variable := range i.Environ {
		if n, v, _ := strings.Cut(variable, "="); n == name {
			value, found = v, true
		}
	}
	return value, found
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
	if Inside == nil || os.Getenv("MOCKSERVER_PROCESS_TESTS") == "1" {
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
	p := &Process{T: t, Ended: make(chan struct{}), Exited: make(chan struct{}), More: make(chan struct{}), signals: make(chan os.Signal, 4)}
	stdoutRead, stdout := io.Pipe()
	stderrRead, stderr := io.Pipe()
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdoutRead, &p.Stdout) })
	readers.Go(func() { p.read(stderrRead, &p.Stderr) })
	go func() {
		p.code = Inside(Invocation{Args: args, Environ: environ, Signals: p.signals, Stdout: stdout, Stderr: stderr})
		_ = stdout.Close() // closing a pipe never fails
		_ = stderr.Close()
		close(p.Ended)
		readers.Wait()
		close(p.Exited)
	}()
	t.Cleanup(func() {
		client.CloseIdleConnections() // otherwise the program waits for them
		p.stopInside()
		p.explain(append([]string{"mockserver"}, args...))
	})
	return p
}

func (p *Process) stopInside() {
	for _, patience := range []time.Duration{lastWord, Patience} {
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
