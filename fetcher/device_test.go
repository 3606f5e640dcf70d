//go:build linux || darwin

package fetcher

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mockserver/renderer"
)

// Opening a pipe without a writer would block forever, which the timeout of the test would reveal.
func TestPipesAndDevicesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "data", "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	l := newTestLoader(t, Options{})
	for _, path := range []string{"data/pipe", "/dev/zero"} {
		s, problems := l.Source(jsonBody(path), dir, renderer.JSON, false, &renderer.Scope{})
		if s != nil || !strings.Contains(problems.Error(), "not a regular file") {
			t.Errorf("%s: %v, %q; want it refused", path, s, problems.Error())
		}
	}
	for path, query := range map[string]string{"data/{{query-params.f}}": "f=pipe", "/dev/{{query-params.f}}": "f=zero"} {
		e := failure(t, mustSource(t, l, jsonBody(path), dir), query)
		if e.Kind != NotFound || !strings.Contains(e.Message, "not a regular file") {
			t.Errorf("%s: %v %q, want NotFound", path, e.Kind, e.Message)
		}
	}
}
