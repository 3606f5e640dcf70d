// Package harness has what the tests of many packages need: files, logs, histograms, and waiting for a
// condition. Only tests import it. What one or two packages need is in their tests; those that run the
// program are in listener/program/e2e.
package harness

import (
	"bytes"
	"os"
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
