package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// grow creates empty files.
func grow(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, filepath.Dir(path), filepath.Base(path), "")
	}
}

// Links to directories, such as data in a mounted ConfigMap, are followed. Each directory is read
// once, even if links form a cycle.
func TestLinksToDirectoriesAreFollowedOnce(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "real/a.yml", "..v1/data/b.yml")
	outside := t.TempDir()
	grow(t, outside, "c.yml", "deep/d.yml")
	for link, to := range map[string]string{
		"..data": "..v1", "data": "..data/data", "out": outside, "again": "real", "real/up": "..", "loop": "loop", "nowhere": "none",
		"three.yml": "real",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	must(t, os.Symlink(dir, filepath.Join(outside, "deep", "back")))
	got, err := listing(dir + "/...")()
	for i := range got {
		got[i], _ = filepath.Rel(dir, got[i])
	}
	if want := []string{"data/b.yml", "out/c.yml", "out/deep/d.yml", "real/a.yml"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestDirectory(t *testing.T) {
	for name, want := range map[string]string{"a/...": "a", "...": ".", "/...": "/", "a/b/...": "a/b", "./...": ".", "a...": "", "a": "", "a/": "", "..": ""} {
		dir, all := Directory(name)
		if all != (want != "") || all && dir != want || !all && dir != name {
			t.Errorf("%q: got %q, %v, want %q", name, dir, all, want)
		}
	}
}
