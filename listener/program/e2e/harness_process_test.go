package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// Process is a running program. It runs in a process of its own, unless the tests of the package
// run it in theirs; see Inside.
type Process struct {
	T      *testing.T
	Cmd    *exec.Cmd      // nil if it has no process of its own
	URL    string         // "http://127.0.0.1:41234", set once it listens
	dir    string         // its working directory
	TLS    *tls.Config    // of its clients; nil unless StartBy started it
	client *http.Client   // plain, or what StartBy connects with
	plain  *http.Client   // not shared: closing what is idle can fail a request whose response has no body
	api    *AdminDocument // of an admin address: the document that its responses are checked against
	Ended  chan struct{}  // closed when the program has ended, though its output may not be read yet
	Exited chan struct{}

	Unread  sync.Mutex     // nobody reads more of the output while a test holds it
	signals chan os.Signal // of a program without a process of its own
	code    int            // its exit code, once it has exited

	Mu     sync.Mutex // guards the fields below
	Lines  []string   // lines of standard output and standard error
	Stdout bytes.Buffer
	Stderr bytes.Buffer
	More   chan struct{} // closed and replaced when a line arrives
}

// Launch starts the program with the given arguments and environment, with an empty home directory
// and its own working directory. The program is stopped at the end of the test.
func Launch(t *testing.T, env []string, args ...string) *Process {
	t.Helper()
	if RunsInside(t) {
		return launchInside(t, append(variables(t), env...), args)
	}
	return LaunchIn(t, t.TempDir(), env, args...)
}

// LaunchIn is like Launch, in the working directory dir, and always as a process of its own.
func LaunchIn(t *testing.T, dir string, env []string, args ...string) *Process {
	t.Helper()
	return LaunchCommand(t, exec.Command(Program(t), args...), dir, env)
}

// LaunchCommand is like LaunchIn, for a command that becomes the program.
func LaunchCommand(t *testing.T, cmd *exec.Cmd, dir string, env []string) *Process {
	t.Helper()
	p := &Process{T: t, Cmd: cmd, dir: dir, plain: newClient(), Ended: make(chan struct{}), Exited: make(chan struct{}), More: make(chan struct{})}
	p.client = p.plain
	p.Cmd.Dir = dir
	p.Cmd.Env = append(variables(t), env...)
	stdoutRead, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderrRead, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd.Stdout, p.Cmd.Stderr = stdout, stderr
	err = p.Cmd.Start()
	_, _ = stdout.Close(), stderr.Close() // the program has copies
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdoutRead, &p.Stdout) })
	readers.Go(func() { p.read(stderrRead, &p.Stderr) })
	go func() {
		_ = p.Cmd.Wait() // the exit code is read from ProcessState
		close(p.Ended)
		readers.Wait()
		close(p.Exited)
	}()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill() // it may already have exited
		<-p.Exited
		p.explain(cmd.Args)
	})
	return p
}

// variables returns the environment of every program.
func variables(t *testing.T) []string {
	t.Helper()
	// GORACE prevents a program with the race detector from sleeping for a second when it exits.
	return []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "PORT=0", "HOST=127.0.0.1", "GORACE=atexit_sleep_ms=0"}
}

// explain logs the output of a program that was started with args, if the test failed.
func (p *Process) explain(args []string) {
	if p.T.Failed() {
		p.T.Logf("output of %v:\n%s", args, strings.Join(p.Output(), "\n"))
	}
}

func (p *Process) read(r io.ReadCloser, into *bytes.Buffer) {
	defer r.Close()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.Unread.Lock()
			p.Mu.Lock()
			into.WriteString(line)
			p.Lines = append(p.Lines, strings.TrimRight(line, "\n"))
			close(p.More)
			p.More = make(chan struct{})
			p.Mu.Unlock()
			p.Unread.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Output returns the lines that the program has written to both outputs so far.
func (p *Process) Output() []string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return append([]string{}, p.Lines...)
}

// WaitLine returns the first output line, from the n-th on, that contains all of the parts.
func (p *Process) WaitLine(n int, parts ...string) string {
	p.T.Helper()
	deadline := time.After(harness.Patience)
	for {
		p.Mu.Lock()
		lines, more := p.Lines, p.More
		p.Mu.Unlock()
		for ; n < len(lines); n++ {
			if containsAll(lines[n], parts) {
				return lines[n]
			}
		}
		select {
		case <-more:
		case <-p.Exited:
			if len(p.Output()) == n {
				p.T.Fatalf("the program exited without a line that contains %q", parts)
			}
		case <-deadline:
			p.T.Fatalf("no line contains %q", parts)
		}
	}
}

// HasLine reports whether a line of the text contains all of the parts.
func HasLine(text string, parts []string) bool {
	for line := range strings.Lines(text) {
		if containsAll(line, parts) {
			return true
		}
	}
	return false
}

// Exit waits for the program to exit and returns its exit code.
func (p *Process) Exit() int {
	p.T.Helper()
	select {
	case <-p.Exited:
		if p.Cmd == nil {
			return p.code
		}
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(harness.Patience):
		p.T.Fatal("the program does not exit")
		return -1
	}
}

// Signal sends the program a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.T.Helper()
	switch {
	case p.Cmd == nil && !slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}, s):
		p.T.Fatalf("no program can handle %v: call NeedsProcess before it starts", s)
	case p.Cmd == nil:
		select {
		case p.signals <- s:
		case <-p.Exited:
			p.T.Fatal("the program has exited")
		}
		return
	}
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// Start launches the program with the given arguments and waits until it listens.
func Start(t *testing.T, args ...string) *Process {
	t.Helper()
	return Launch(t, nil, args...).Listening()
}

// Listening waits until the program listens, and sets its URL, which is https if its clients use TLS.
func (p *Process) Listening() *Process {
	p.T.Helper()
	line := p.WaitLine(0, "listening", "url", "://")
	scheme := "http://"
	if strings.Contains(line, "https://") {
		scheme = "https://"
	}
	_, rest, _ := strings.Cut(line, scheme)
	if p.TLS != nil {
		scheme = "https://"
	}
	p.URL = scheme + strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '"' })[0]
	return p
}

// Serving starts the program with a configuration file of the given content.
func Serving(t *testing.T, configuration string, args ...string) *Process {
	t.Helper()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", configuration)
	return Start(t, append([]string{"-c", file}, args...)...)
}

// Refused runs the program, which is expected to exit by itself, and returns its exit code and both
// outputs.
func Refused(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := Launch(t, env, args...)
	code = p.Exit()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return code, p.Stdout.String(), p.Stderr.String()
}

// Response is a response as received by a client.
type Response struct {
	Status int
	Proto  string // "HTTP/1.1" or "HTTP/2.0"
	Header http.Header
	Body   string
	Length int64 // the Content-Length; -1 if there is none
}

// newClient returns a client that does not follow redirects or decode bodies: a test sees exactly
// what the server sent.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       harness.Patience,
	}
}

// Do sends a request. Headers have the form "Name: value"; Host is one of them.
func (p *Process) Do(method, path, body string, headers ...string) Response {
	p.T.Helper()
	a, err := p.Try(method, path, body, headers...)
	if err != nil {
		p.T.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Try is like Do, for goroutines and for requests that may fail.
func (p *Process) Try(method, path, body string, headers ...string) (Response, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.URL+path, reader)
	if err != nil {
		return Response{}, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Add(name, value)
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	a := Response{resp.StatusCode, resp.Proto, resp.Header, string(b), resp.ContentLength}
	if err == nil && p.api != nil {
		p.api.Check(p.T, method, path, a)
	}
	return a, err
}

// Get sends a GET request.
func (p *Process) Get(path string, headers ...string) Response {
	p.T.Helper()
	return p.Do("GET", path, "", headers...)
}

// Want fails the test unless the response has the status and the body.
func (a Response) Want(t *testing.T, status int, body string) {
	t.Helper()
	if a.Status != status || a.Body != body {
		t.Errorf("got %d %s\nwant %d %s", a.Status, a.Body, status, body)
	}
}

// One returns a configuration with one endpoint, /a, that answers with the body.
func One(body string) string {
	return "- endpoint: {path: /a, response: {body: " + body + "}}\n"
}

// At returns a configuration with one endpoint, at the path, that answers with the body.
func At(path, body string) string {
	return fmt.Sprintf("- endpoint: {path: %s, response: {body: %q}}\n", path, body)
}

// Stopped stops the program with SIGTERM and returns its output.
func (p *Process) Stopped() (stdout, stderr string) {
	p.T.Helper()
	p.plain.CloseIdleConnections() // otherwise the program waits for them
	p.Signal(syscall.SIGTERM)
	if got := p.Exit(); got != 0 {
		p.T.Errorf("got exit code %d after SIGTERM, want 0", got)
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Stdout.String(), p.Stderr.String()
}
