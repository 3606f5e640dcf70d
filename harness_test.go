package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the program under test, built once: these tests run it as a user
// does and talk to it over sockets.
var binary string

func TestMain(m *testing.M) {
	// Go takes the result of a test from its cache as long as the test binary is the
	// same. That nothing but the built program ran would leave the program out of it:
	// the linker drops what is never called. So this binary can be the program as well.
	if os.Getenv("MOCKSERVER_TEST_IS_THE_PROGRAM") != "" {
		main()
	}
	dir, err := os.MkdirTemp("", "mockserver-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "mockserver")
	build := append([]string{"build", "-o", binary}, buildFlags...)
	if out, err := exec.Command("go", append(build, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience bounds every wait of these tests; none of them waits that long unless
// something is broken.
const patience = time.Minute

// process is a running program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string         // "http://127.0.0.1:41234", once it listens
	dir    string         // its working directory
	api    *adminDocument // of an admin address: what its answers are held against
	exited chan struct{}

	mu     sync.Mutex // guards what follows
	lines  []string   // of standard output and standard error
	stdout bytes.Buffer
	stderr bytes.Buffer
	more   chan struct{} // closed and replaced when a line comes
}

// launch starts the program with the arguments and environment given, in an
// empty home and a working directory of its own, and stops it with the test.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return launchIn(t, t.TempDir(), env, args...)
}

func launchIn(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	return launchCommand(t, exec.Command(binary, args...), dir, env)
}

// launchCommand is launchIn for a command that becomes the program.
func launchCommand(t *testing.T, cmd *exec.Cmd, dir string, env []string) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, dir: dir, exited: make(chan struct{}), more: make(chan struct{})}
	p.cmd.Dir = dir
	// GORACE keeps a program that watches its races from sleeping a second at its end.
	p.cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "PORT=0", "HOST=127.0.0.1", "GORACE=atexit_sleep_ms=0"}, env...)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout, &p.stdout) })
	readers.Go(func() { p.read(stderr, &p.stderr) })
	go func() {
		readers.Wait()
		_ = p.cmd.Wait() // the exit code is read from ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended already
		<-p.exited
		if t.Failed() {
			t.Logf("output of %v:\n%s", cmd.Args, strings.Join(p.output(), "\n"))
		}
	})
	return p
}

func (p *process) read(r io.Reader, into *bytes.Buffer) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.mu.Lock()
			into.WriteString(line)
			p.lines = append(p.lines, strings.TrimRight(line, "\n"))
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

func (p *process) output() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.lines...)
}

// waitLine returns the first output line, from the n-th on, that holds every one
// of the parts.
func (p *process) waitLine(n int, parts ...string) string {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		lines, more := p.lines, p.more
		p.mu.Unlock()
		for ; n < len(lines); n++ {
			if containsAll(lines[n], parts) {
				return lines[n]
			}
		}
		select {
		case <-more:
		case <-p.exited:
			if len(p.output()) == n {
				p.t.Fatalf("the program ended without a line that holds %q", parts)
			}
		case <-deadline:
			p.t.Fatalf("no line that holds %q", parts)
		}
	}
}

func containsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// exit waits for the program to end and returns its exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
		return -1
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// start launches the program with the arguments given and waits until it listens.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return launch(t, nil, args...).listening()
}

func (p *process) listening() *process {
	p.t.Helper()
	line := p.waitLine(0, "listening", "http://")
	_, rest, _ := strings.Cut(line, "http://")
	p.url = "http://" + strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '"' })[0]
	return p
}

// serving starts the program with a configuration file of the given content.
func serving(t *testing.T, configuration string, args ...string) *process {
	t.Helper()
	file := writeFile(t, t.TempDir(), "mock.yml", configuration)
	return start(t, append([]string{"-c", file}, args...)...)
}

// writeFile writes a file, with the directories on its way, and returns its path.
func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// Written elsewhere and moved there, so that nobody sees it half-written.
	whole := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(whole, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// refused runs the program, which is expected to end by itself, and returns its
// exit code and both outputs.
func refused(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := launch(t, env, args...)
	code = p.exit()
	p.mu.Lock()
	defer p.mu.Unlock()
	return code, p.stdout.String(), p.stderr.String()
}

// answer is a response as a client got it.
type answer struct {
	status int
	header http.Header
	body   string
	length int64 // the Content-Length, -1 for none
}

// client follows no redirect and undoes no encoding: what the server says is what
// the test sees.
var client = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       patience,
}

// do sends a request; headers are "Name: value". Host is a header too.
func (p *process) do(method, path, body string, headers ...string) answer {
	p.t.Helper()
	a, err := p.try(method, path, body, headers...)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// try is do for goroutines and for requests that may fail.
func (p *process) try(method, path, body string, headers ...string) (answer, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.url+path, reader)
	if err != nil {
		return answer{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Add(name, value)
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	a := answer{resp.StatusCode, resp.Header, string(b), resp.ContentLength}
	if err == nil && p.api != nil {
		p.api.check(p.t, method, path, a)
	}
	return a, err
}

func (p *process) get(path string, headers ...string) answer {
	p.t.Helper()
	return p.do("GET", path, "", headers...)
}

// want fails the test unless the answer has the status and the body.
func (a answer) want(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body {
		t.Errorf("got %d %s\nwant %d %s", a.status, a.body, status, body)
	}
}
