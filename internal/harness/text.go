package harness

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"mockserver/internal/harness/volume"
)

// Refusal returns the messages, one per line, with which validate refuses a configuration. At full
// volume, serve must refuse it with the same messages.
func Refusal(t *testing.T, file string, more ...string) []string {
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

// WithCurl runs curl without progress output, and returns what the server sent and the exit code.
func WithCurl(t *testing.T, args ...string) (output string, code int) {
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
