//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// TestDirectory_OneThatMayNotBeListedIsRefused runs the program as a user to whom permissions
// apply: root may list any directory.
func TestDirectory_OneThatMayNotBeListedIsRefused(t *testing.T) {
	reachable, err := os.MkdirTemp("", "mockserver-test-") // that user can reach it, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(reachable)
	if err := os.Chmod(reachable, 0o755); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(Program(t))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(reachable, "mockserver")
	if err := os.WriteFile(binary, bytes, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(reachable, "unlisted")
	harness.WriteFile(t, dir, "a.yml", One("fine"))
	if err := os.Chmod(dir, 0o311); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	cmd := exec.Command(binary, "-c", dir)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	p := LaunchCommand(t, cmd, "/", nil)
	if code := p.Exit(); code != 2 || !slices.Equal(p.Output(), []string{dir + ": the directory cannot be read: permission denied"}) {
		t.Errorf("got exit code %d and %q", code, p.Output())
	}
}
