//go:build unix

package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yml", "text")
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(t, os.Symlink("a.yml", filepath.Join(dir, "link")))
	must(t, os.Symlink(path, filepath.Join(dir, "out")))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, c := range []struct {
		name string
		want error
	}{
		{"none", fs.ErrNotExist}, {".", ErrNotRegular}, {"pipe", ErrNotRegular}, {"a.yml", nil}, {"link", nil},
	} {
		opened := map[string]func() (*os.File, fs.FileInfo, error){
			"by its path": func() (*os.File, fs.FileInfo, error) { return Open(filepath.Join(dir, c.name)) },
			"in its root": func() (*os.File, fs.FileInfo, error) { return OpenIn(root, c.name) },
		}
		for how, open := range opened {
			f, info, err := open()
			if !errors.Is(err, c.want) || (f == nil) != (err != nil) || info == nil && err == ErrNotRegular {
				t.Errorf("%s %s: %v, want %v", c.name, how, err, c.want)
			}
			if f == nil {
				continue
			}
			text, err := io.ReadAll(f)
			if string(text) != "text" || err != nil || info.Size() != 4 {
				t.Errorf("%s %s: read %q of %d bytes, %v", c.name, how, text, info.Size(), err)
			}
			f.Close()
		}
	}
	if f, _, err := OpenIn(root, "out"); err == nil {
		f.Close()
		t.Error("a link leaves the root")
	}
}

// A pipe replaces a file after the check: opening it would wait for a writer that never appears.
func TestAPipeSwappedInIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path, pipe := write(t, dir, "a.yml", "text"), filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	swap := func(name string) (fs.FileInfo, error) {
		info, err := os.Stat(name)
		must(t, os.Rename(pipe, path))
		return info, err
	}
	if _, _, err := openRegular(swap, os.OpenFile, path); err != ErrNotRegular {
		t.Errorf("got %v, want %v", err, ErrNotRegular)
	}
}
