//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestDirectory_OneThatMayNotBeListedIsRefused runs the program as a user whom
// permissions concern: root may list what it likes.
func TestDirectory_OneThatMayNotBeListedIsRefused(t *testing.T) {
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil { // the user has to reach the program
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(binary), "unlisted")
	writeFile(t, dir, "a.yml", one("fine"))
	if err := os.Chmod(dir, 0o311); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	cmd := exec.Command(binary, "-c", dir)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	p := launchCommand(t, cmd, "/", nil)
	if code := p.exit(); code != 2 || !slices.Equal(p.output(), []string{dir + ": the directory cannot be read: permission denied"}) {
		t.Errorf("got exit code %d and %q", code, p.output())
	}
}
