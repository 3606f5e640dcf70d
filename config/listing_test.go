package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// grow makes files with one endpoint each, which has the path of its file.
func grow(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, filepath.Dir(path), filepath.Base(path), at("/"+name))
	}
}

func TestADirectoryWithItsSubdirectoriesIsReadInByteOrderOfPaths(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "b.yml", "a/z.yml", "a.yml", "a/b/c.yml", "a0.yml", "B/x.yml")
	for _, name := range []string{".git/x.yml", "a/.hidden.yml", "a/..2026/x.yml", "a/README.md"} {
		grow(t, dir, name)
	}
	want := []string{"/B/x.yml", "/a.yml", "/a/b/c.yml", "/a/z.yml", "/a0.yml", "/b.yml"}
	for _, name := range []string{dir + "/...", dir + "//...", dir + "/a/../..."} {
		spec := Load(name)
		if got := paths(spec); !slices.Equal(got, want) || len(spec.Problems) > 0 {
			t.Errorf("%s: got %q and %v, want %q", name, got, spec.Problems, want)
		}
		if e := spec.Endpoints[2]; len(spec.Endpoints) == len(want) && filepath.Base(e.Dir) != "b" {
			t.Errorf("relative names are looked up in %s, want next to the file", e.Dir)
		}
	}
	t.Chdir(dir)
	if got := paths(Load("...")); !slices.Equal(got, want) {
		t.Errorf("...: got %q, want %q", got, want)
	}
	if spec := Load("a/..."); spec.Endpoints[0].Pos.File != filepath.Join("a", "b", "c.yml") {
		t.Errorf("a file is named %q, want the name as it was given", spec.Endpoints[0].Pos.File)
	}
	if spec := Load("a", "..."); len(spec.Problems.Warnings()) != 1 || len(spec.Endpoints) != len(want) {
		t.Errorf("a and ...: got %q and %v, want each file once, and a warning of a/z.yml", paths(spec), spec.Problems)
	}
}

func TestWhatIsWrongWithADirectoryAndItsSubdirectories(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "many/a.yml", "none/a.txt", "file.yml")
	for i := range 1000 {
		must(t, os.Mkdir(filepath.Join(dir, "many", fmt.Sprint(i)), 0o700))
	}
	for name, want := range map[string]string{
		"many/...":     ": the directory cannot be read: there are more than 1000 directories",
		"none/...":     "/...: the directory contains no file to read; ",
		"nowhere/...":  "/nowhere: the directory cannot be read: ",
		"file.yml/...": "/file.yml: the directory cannot be read: ",
	} {
		got := Load(filepath.Join(dir, name)).Problems
		if len(got) != 1 || !strings.Contains(got[0].String(), want) {
			t.Errorf("%s: got %v, want %s", name, got, want)
		}
	}
}

func TestWhatIsLeftOutOfADirectoryIsKnown(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir, "a.yml", ".b.yml", ".a.yml.swp", ".env", "old/c.yml", "data/d.txt", "old/.e.json", ".git/f.yml", "..v1/g.yml", "..h.yml")
	must(t, os.Symlink("old", filepath.Join(dir, "link")))
	for name, want := range map[string]string{
		"":         ": subdirectories data, link, old (%s/... reads them); hidden files .b.yml",
		"/...":     ": hidden files .b.yml, old/.e.json",
		"/old":     "/old: hidden files .e.json",
		"/old/...": "/old: hidden files .e.json",
		"/data":    "", // contains no file to read
		"/a.yml":   "",
	} {
		got := Load(dir + name).LeftOut()
		if want != "" {
			want = dir + strings.ReplaceAll(want, "%s", dir)
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	for i := range 8 {
		grow(t, dir, fmt.Sprintf("sub%d/x.yml", i))
	}
	if got := Load(dir).LeftOut()[0]; !strings.Contains(got, "data, link, old, sub0, sub1 and 6 more (") {
		t.Errorf("got %q, want five names and how many more there are", got)
	}
}
