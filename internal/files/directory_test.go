package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes a file in a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// yml reports whether these tests read a file with this name.
func yml(name string) bool { return filepath.Ext(name) == ".yml" }

// listing lists the .yml files of a directory.
func listing(dir string) func() ([]string, error) {
	return func() ([]string, error) {
		paths, _, err := List(dir, yml)
		return paths, err
	}
}

// The watcher may already have reported a change that happens while a directory is being read, so a
// half-changed state must not be served.
func TestADirectoryIsReadAsOfOneTime(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string) error
		want   []string // the files read, and their content
	}{
		{"nothing changes", func(string) error { return nil }, []string{"a.yml=a", "b.yml=b", "c.yml=c"}},
		{"a file that is not read yet goes", func(dir string) error { return os.Remove(filepath.Join(dir, "c.yml")) },
			[]string{"a.yml=a", "b.yml=b"}},
		{"a file that is not read yet is renamed to the front", func(dir string) error {
			return os.Rename(filepath.Join(dir, "c.yml"), filepath.Join(dir, "0.yml"))
		}, []string{"0.yml=c", "a.yml=a", "b.yml=b"}},
		{"a file that was read changes", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a.yml"), []byte("new a"), 0o600)
		}, []string{"a.yml=new a", "b.yml=b", "c.yml=c"}},
		{"a file comes", func(dir string) error { return os.WriteFile(filepath.Join(dir, "0.yml"), []byte("0"), 0o600) },
			[]string{"0.yml=0", "a.yml=a", "b.yml=b", "c.yml=c"}},
		{"a file comes after all others", func(dir string) error { return os.WriteFile(filepath.Join(dir, "z.yml"), []byte("z"), 0o600) },
			[]string{"a.yml=a", "b.yml=b", "c.yml=c", "z.yml=z"}},
		{"the files are swapped", func(dir string) error {
			if err := os.Symlink("v2", filepath.Join(dir, "next")); err != nil {
				return err
			}
			return os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "..data"))
		}, []string{"a.yml=a2", "b.yml=b2", "c.yml=c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, v := range []string{"1", "2"} {
				must(t, os.Mkdir(filepath.Join(dir, "v"+v), 0o700))
				write(t, filepath.Join(dir, "v"+v), "b.yml", "b"+strings.TrimSuffix(v, "1"))
				write(t, filepath.Join(dir, "v"+v), "a.yml", "a"+strings.TrimSuffix(v, "1"))
			}
			must(t, os.Symlink("v1", filepath.Join(dir, "..data")))
			must(t, os.Symlink("..data/a.yml", filepath.Join(dir, "a.yml")))
			must(t, os.Symlink("..data/b.yml", filepath.Join(dir, "b.yml")))
			write(t, dir, "c.yml", "c")
			changed := false
			members, err := ReadDirectory(listing(dir), func(path string) ([]byte, error) {
				data, err := Read(path)
				if filepath.Base(path) == "a.yml" && !changed {
					changed = true
					must(t, c.change(dir))
				}
				return data, err
			})
			must(t, err)
			var got []string
			for _, m := range members {
				must(t, m.Err)
				got = append(got, filepath.Base(m.Path)+"="+string(m.Data))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("read %q, want %q", got, c.want)
			}
		})
	}
}

func TestADirectoryThatNeverStandsStillIsReadAllTheSame(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yml", "")
	reads := 0
	members, err := ReadDirectory(listing(dir), func(string) ([]byte, error) {
		reads++
		return []byte(fmt.Sprint(reads)), os.WriteFile(path, make([]byte, reads), 0o600)
	})
	if want := fmt.Sprint(directoryTries); err != nil || reads != directoryTries || len(members) != 1 || string(members[0].Data) != want {
		t.Errorf("got %v, %v after %d reads, want the last content of %s", members, err, reads, want)
	}
	if _, err := ReadDirectory(listing(dir), func(string) ([]byte, error) { return nil, os.RemoveAll(dir) }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a directory that is removed: %v", err)
	}
}

func TestAFileThatGoesForGoodIsAMistake(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yml", "")
	members, err := ReadDirectory(listing(dir), func(string) ([]byte, error) { return nil, ErrDirectory })
	if err != nil || len(members) > 0 {
		t.Errorf("directories that links lead to are left out: got %v, %v", members, err)
	}
	gone := errors.New("there is no such file")
	members, err = ReadDirectory(listing(dir), func(string) ([]byte, error) { return nil, gone })
	if err != nil || len(members) != 1 || members[0].Err != gone {
		t.Errorf("got %v, %v", members, err)
	}
}

// A program may set the modification time back, but not the time of the last change.
func TestSame(t *testing.T) {
	path := write(t, t.TempDir(), "a.yml", "one")
	before, err := os.Stat(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte("two"), 0o600))
	must(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
	for {
		after, err := os.Stat(path)
		must(t, err)
		if !changed(after).Equal(changed(before)) || changed(after).IsZero() {
			if Same(before, after) != changed(after).IsZero() || !Same(after, after) {
				t.Error("a change of equal size with the modification time of before is not seen")
			}
			return
		}
		must(t, os.Chtimes(path, before.ModTime(), before.ModTime())) // within a tick of the file system
	}
}
