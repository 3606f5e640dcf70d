package e2e_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Program returns the path of the program under test. The first test of a run that needs the
// program builds it; all others use the same file. Its directory is named after the hash of the
// sources, so a program built from other sources is never run.
func Program(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short skips tests that run the program")
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	key, err := sourcesKey()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil { // no home directory
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "mockserver-test")
	dir := filepath.Join(cache, key)
	path := filepath.Join(dir, "mockserver"+executable)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		now := time.Now()
		return path, os.Chtimes(dir, now, now)
	}
	removeOld(cache)
	// The program is built elsewhere and then moved, so that the file is always complete.
	whole := filepath.Join(cache, fmt.Sprintf("new-%d%s", os.Getpid(), executable))
	defer os.Remove(whole)
	args := []string{"build", "-o", whole}
	if Race { // the program also runs with the race detector
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, ".")...)
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return path, os.Rename(whole, path)
})

// removeOld removes the programs that no test has used in the last day.
func removeOld(cache string) {
	entries, _ := os.ReadDir(cache) // entries that cannot be read are not removed
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != "lock" && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(filepath.Join(cache, e.Name())) // on an error a later run tries again
		}
	}
}

// sourcesKey returns a hash of the files that the program is built from. It reads the files in this
// process: go test uses a cached result only if the files that the test opened are unchanged, so a
// change to the program causes its tests to run again.
func sourcesKey() (string, error) {
	list := exec.Command("go", "list", "-deps", "-f",
		`{{if and (not .Standard) .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, ".")
	list.Dir = repository
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	files := append(strings.Fields(string(out)), filepath.Join(repository, "go.mod"), filepath.Join(repository, "go.sum"))
	hash := sha256.New()
	fmt.Fprintln(hash, repository, runtime.Version(), Race, os.Getenv("GOFLAGS"), os.Getenv("CGO_ENABLED"))
	directories := map[string]bool{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(hash, name)
		_, err = io.Copy(hash, file)
		_ = file.Close() // the file was only read
		if err != nil {
			return "", err
		}
		directories[filepath.Dir(name)] = true
	}
	for dir := range directories { // adding a file changes its directory
		if _, err := os.Stat(dir); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:12]), nil
}

// repository is the root directory of the repository, where go.mod is.
var repository = func() string {
	dir, err := filepath.Abs("../../..") // this package is listener/program/e2e
	if err != nil {
		panic(err)
	}
	return dir
}()

// File returns the absolute path of a file in the repository.
func File(elements ...string) string {
	return filepath.Join(repository, filepath.Join(elements...))
}
