// Package harness has what the tests of several packages need: files, free addresses, certificates,
// and waiting for a condition. Only tests import it. The tests that run the program are in
// listener/program/e2e, with all that only they need.
package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mockserver/internal/histogram"
)

// Patience limits every wait of the tests; no wait takes that long unless something is broken.
const Patience = time.Minute

// Until waits until a condition holds.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(Patience)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// WriteFile writes a file, creating its parent directories, and returns its path.
func WriteFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// The file is written elsewhere and then moved, so that the program never reads a half-written
	// file.
	whole := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(whole, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(whole, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// NATS starts the NATS servers of .ci/tools/nats, one or one for each configuration file, and
// returns their addresses, separated by commas.
// They stop when stop is called, or with the process. Without the program, it skips the test, unless
// MOCKSERVER_NATS_TESTS=1 is set, as .ci/run does.
func NATS(t testing.TB, args ...string) (addresses string, stop func()) {
	t.Helper()
	const program = "nats-servers"
	if _, err := exec.LookPath(program); err != nil && os.Getenv("MOCKSERVER_NATS_TESTS") != "1" {
		t.Skip("there is no nats-servers here, which .ci/run builds")
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, &addresses); err != nil {
		t.Fatalf("NATS does not start: %v", err)
	}
	return addresses, func() { _, _ = in.Close(), cmd.Wait() }
}

// Log is a log that tests read while it is being written.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// String returns what has been written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Histogram returns a reading of a histogram of the given durations.
func Histogram(durations ...time.Duration) (l histogram.Snapshot) {
	var h histogram.Histogram
	for _, d := range durations {
		h.Add(d)
	}
	h.Read(&l)
	return l
}
