// Package harness has what the tests of several packages need: files, free addresses, certificates,
// and waiting for a condition. Only tests import it. The tests that run the program are in
// listener/program/e2e, with all that only they need.
package harness

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
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

// ContainsAll reports whether s contains all of the parts.
func ContainsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
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

// UnusedAddresses returns addresses of n free ports, which the system does not assign to other
// programs that request any free port. They are for programs that must know each other's addresses
// before they are started.
func UnusedAddresses(t testing.TB, n int) []string {
	t.Helper()
	var list []string
	for len(list) < n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000)))
		if err != nil {
			continue // it is taken
		}
		defer l.Close() // after all of them are taken
		list = append(list, l.Addr().String())
	}
	return list
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
