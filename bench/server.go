package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"mockserver/bench/load"
)

// ChildVariable is set in the processes that bench starts. They exit when their standard input is
// closed, so that no process outlives bench on any system, however bench exits.
const ChildVariable = "MOCKSERVER_BENCH_CHILD"

// Roles of the processes that bench starts. They are the values of ChildVariable.
const (
	roleServer   = "server"
	roleBaseline = "baseline"
)

const (
	// startPatience bounds the time to start; 10,000 endpoints take half a second.
	startPatience = 30 * time.Second
	stopPatience  = 10 * time.Second
	lastLines     = 12 // how many lines of a server's log are kept for messages
)

// server is a listening process that bench started.
type server struct {
	name    string // for messages: "the server", "the baseline"
	address string // "127.0.0.1:41234"
	pid     int

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	log    *tail
	exited chan struct{} // closed when the process is gone
	err    error         // why it exited; valid once exited is closed
}

// startServer starts the server with a configuration, and waits until it listens. The error
// contains the last lines of its log.
func (r *run) startServer(ctx context.Context, configuration []string, flags ...string) (*server, error) {
	args := []string{"serve", "--format", "json", "--host", "127.0.0.1", "--port", "0"}
	for _, path := range configuration {
		args = append(args, "--config", path)
	}
	return r.start(ctx, "the server", roleServer, append(append(args, flags...), r.opts.Server...))
}

// start starts the program in a role, on the processors of servers, and waits until it listens.
func (r *run) start(ctx context.Context, name, role string, args []string) (*server, error) {
	cmd := exec.Command(r.opts.Program, args...) //nolint:gosec // the command is this program
	cmd.Env = append(serverEnvironment(r.opts.Environ), ChildVariable+"="+role)
	s, err := r.launch(name, cmd)
	if err != nil {
		return nil, err
	}
	if err := s.listening(ctx); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// launch starts a command on the processors of servers. The command must exit when its input is
// closed.
func (r *run) launch(name string, cmd *exec.Cmd) (*server, error) {
	s := &server{name: name, cmd: cmd, log: &tail{listening: make(chan string, 1)}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.WaitDelay = time.Second // its own children may keep its outputs open
	var err error
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := load.StartOn(cmd, r.placed.Server); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.pid = cmd.Process.Pid
	go func() {
		s.err = cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// listening waits until the server logs its address.
func (s *server) listening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	select {
	case s.address = <-s.log.listening:
		return nil
	case <-s.exited:
		return s.died()
	case <-ctx.Done():
		return fmt.Errorf("start %s: %w", s.name, context.Cause(ctx))
	}
}

// died returns the error of a server that exited by itself.
func (s *server) died() error {
	return fmt.Errorf("%s exited unexpectedly (%v); last lines of its log:\n  %s", s.name, s.err, strings.Join(s.log.lines(), "\n  "))
}

// stop stops the server as SIGTERM does, and kills it when ctx ends or stopping takes too long.
func (s *server) stop(ctx context.Context) {
	_ = s.stdin.Close() // the process may be gone
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-s.exited:
		return
	case <-ctx.Done():
	case <-timer.C:
	}
	s.kill()
}

// kill kills the server, and the processes that it has started, at once.
func (s *server) kill() {
	load.Kill(s.cmd.Process)
	_ = s.stdin.Close()
	<-s.exited
}

// serverEnvironment returns the environment without the settings of a server and of error reports,
// so that only the command line counts.
func serverEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "MOCKSERVER_") ||
			slices.Contains([]string{"CONFIG", "MOCKS", "PORT", "HOST", "SENTRY_DSN"}, name)
	})
}

// logLine is the part of a line of a server's log that bench reads.
type logLine struct {
	Message string `json:"msg"`
	Address string `json:"address"`
}

// tail receives the log of a server, and keeps the last lines. Both outputs of a process may write to
// it.
type tail struct {
	mu      sync.Mutex
	partial []byte
	last    []string
	found   bool // the address was logged

	listening chan string // receives the address once it is logged
}

// Write takes output of the process.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const longest = 1 << 20 // longer lines are cut
	for rest := p; len(rest) > 0; {
		n, line, err := bufio.ScanLines(rest, false)
		if err != nil || n == 0 {
			t.partial = append(t.partial, rest[:min(len(rest), max(longest-len(t.partial), 0))]...)
			break
		}
		t.line(append(t.partial, line...))
		t.partial, rest = t.partial[:0], rest[n:]
	}
	return len(p), nil
}

func (t *tail) line(text []byte) {
	const shown = 500
	if len(t.last) == lastLines {
		t.last = t.last[1:]
	}
	t.last = append(t.last, string(text[:min(len(text), shown)]))
	var line logLine
	// An access log must not take CPU time from the load generator: its lines are not parsed.
	if !t.found && bytes.Contains(text, []byte(`"listening"`)) && json.Unmarshal(text, &line) == nil && line.Message == "listening" {
		t.found = true
		t.listening <- line.Address
	}
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.Clone(t.last)
	if len(t.partial) > 0 {
		lines = append(lines, string(t.partial[:min(len(t.partial), 500)]))
	}
	return lines
}
