package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// runClient runs a script of testdata/clients with Node, and the packages that its package.json
// names. The script fails by its exit code. Without Node or the packages the test is skipped.
func runClient(t *testing.T, script string, args ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "clients", script))
	if err != nil {
		t.Fatal(err)
	}
	need(t, "node", "npm")
	dir, err := clients()
	if err != nil {
		t.Skipf("the packages of testdata/clients cannot be installed: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, "node", append([]string{"--input-type=module", "-"}, args...)...)
	node.Dir = dir // packages are looked up from here, because the script has no file
	node.Stdin = bytes.NewReader(text)
	if out, err := node.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

// clients installs the packages, once for each content of package-lock.json, and returns their directory.
// They are next to the programs under test, and removed like them.
var clients = sync.OnceValues(func() (string, error) {
	hash := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "clients", name))
		if err != nil {
			return "", err
		}
		files[name] = text
		_, _ = hash.Write(text) // a hash does not fail
	}
	cache, err := os.UserCacheDir()
	if err != nil { // no home directory
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "mockserver-test")
	dir := filepath.Join(cache, fmt.Sprintf("clients-%x", hash.Sum(nil)[:12]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "lock-clients"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		now := time.Now()
		return dir, os.Chtimes(dir, now, now)
	}
	// They are installed elsewhere and then moved, so that the directory is always complete.
	whole, err := os.MkdirTemp(cache, "new-clients-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(whole)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(whole, name), text, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1")
	npm.Dir = whole
	if out, err := npm.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(bytes.TrimSpace(out))))
	}
	return dir, os.Rename(whole, dir)
})
