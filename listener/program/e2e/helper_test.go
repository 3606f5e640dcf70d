package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mockserver/internal/harness/volume"
)

// refusalOf returns the messages, one per line, with which validate refuses a configuration. At full
// volume, serve must refuse it with the same messages.
func refusalOf(t *testing.T, file string, more ...string) []string {
	t.Helper()
	var said []string
	commands := []string{"validate", "serve"}
	if !volume.Full() {
		commands = commands[:1]
	}
	for _, command := range commands {
		code, stdout, stderr := Refused(t, nil, append([]string{command, "-c", file}, more...)...)
		if code != 2 || stdout != "" {
			t.Errorf("%s: got exit code %d and on standard output %q, want 2 and nothing; standard error:\n%s", command, code, stdout, stderr)
		}
		if said == nil {
			said = strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		} else if got, want := stderr, strings.Join(said, "\n")+"\n"; got != want {
			t.Errorf("serve reports\n%s\nbut validate reports\n%s", got, want)
		}
	}
	return said
}

// withCurl runs curl without progress output, and returns what the server sent and the exit code.
func withCurl(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	cmd := exec.Command(program, append([]string{"--silent", "--max-time", "20", "--noproxy", "*"}, args...)...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// rename renames a file.
func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// wire sends bytes unchanged over a separate connection and returns everything received until the
// server closes the connection. A failed write does not fail the test: a server may respond and
// close the connection before it has read everything.
func wire(p *Process, request string) string {
	p.T.Helper()
	c := p.Dial()
	go func() { _, _ = io.WriteString(c, request) }()
	b, err := io.ReadAll(c)
	if err != nil && len(b) == 0 {
		p.T.Fatalf("no response: %v", err)
	}
	return string(b)
}
