//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"mockserver/internal/harness"
)

// A recording stays below the working directory, whatever links lead out of it.
func TestRecordings_DoNotLeaveTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	harness.WriteFile(t, dir, "mock.yml", `
- upstream: {name: real, url: "http://127.0.0.1:1"}
- endpoint: {path: /a, response: {proxy: real}}
`)
	for link, to := range map[string]string{"out": outside, "dangling": filepath.Join(outside, "none"), "up": "..", "within": "real"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	admin := AdminOf(LaunchIn(t, dir, nil, "-c", "mock.yml", "--admin", "127.0.0.1:0").Listening())
	for to, want := range map[string]int{
		"out": 400, "out/a": 400, "dangling": 400, "dangling/a": 400, "up/a": 400, "mock.yml/a": 400, "../a": 400, "within/a": 201,
	} {
		if got := admin.Do("POST", "/__admin/recordings", `{"upstream": "real", "to": "`+to+`"}`); got.Status != want {
			t.Errorf("%s: got %d %s, want %d", to, got.Status, got.Body, want)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside there is %v, %v", left, err)
	}
}
