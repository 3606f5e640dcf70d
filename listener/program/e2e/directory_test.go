package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// tree writes files into a new directory and returns the directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		harness.WriteFile(t, dir, name, content)
	}
	return dir
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestDirectory_ItsFilesAreJoinedInNameOrder(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"10-first.yml":     At("/a", "first") + "- endpoint: {path: /data, response: {external-body: {provider: json, path: data/d.json}}}\n",
		"20-second.json":   `[{"endpoint": {"path": "/a", "response": {"body": "second"}}}, {"endpoint": {"path": "/b", "response": {"body": "second"}}}]`,
		"30-third.YAML":    At("/b", "third") + At("/c", "third"),
		"README.md":        "# not read",
		"book.xlsx":        "not read",
		".40-hidden.yml":   "not: read",
		"..2026/x.yml":     "not: read",
		"data/d.json":      `{"beside": "the file"}`,
		"data/nested.yml":  "not: read",
		"50-swap.yml.swp":  "not read",
		"60-directory.yml": At("/d", "a file"),
	})
	link := filepath.Join(t.TempDir(), "conf")
	symlink(t, dir, link)
	for _, c := range []struct {
		name string
		env  []string
		args []string
	}{
		{"-c", nil, []string{"-c", dir}},
		{"-c with a slash behind", nil, []string{"-c", dir + "/"}},
		{"CONFIG", []string{"CONFIG=" + dir}, nil},
		{"-m", nil, []string{"-m", dir}},
		{"MOCKS", []string{"MOCKS=" + dir}, nil},
		{"a link to it", nil, []string{"-c", link}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Launch(t, c.env, c.args...).Listening()
			for path, want := range map[string]string{"/a": "first", "/b": "second", "/c": "third", "/d": "a file", "/data": `{"beside": "the file"}`} {
				p.Get(path).Want(t, 200, want)
			}
		})
	}
}

func TestDirectory_ConfigurationsAreJoinedInTheOrderGiven(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.yml": At("/x", "a") + At("/a", "a"), "b.yml": At("/x", "b") + At("/b", "b"), "m.yml": At("/x", "m") + At("/m", "m"),
		"d/1.yml": At("/x", "d1") + At("/d1", "d1"), "d/2.yml": At("/x", "d2") + At("/d2", "d2"),
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		args []string
		x    string // the response to /x
		all  []string
	}{
		{[]string{"-c", in("a.yml"), "-c", in("b.yml")}, "a", []string{"a", "b"}},
		{[]string{"-c", in("b.yml"), "--config", in("a.yml")}, "b", []string{"a", "b"}},
		{[]string{"-c", in("d"), "--config=" + in("a.yml")}, "d1", []string{"d1", "d2", "a"}},
		{[]string{"-c", in("a.yml"), "-c", in("d")}, "a", []string{"d1", "d2", "a"}},
		{[]string{"-m", in("m.yml"), "-c", in("b.yml"), "-c", in("d")}, "b", []string{"b", "d1", "d2", "m"}},
		{[]string{"-m", in("d"), "-c", in("b.yml")}, "b", []string{"b", "d1", "d2"}},
	} {
		t.Run(strings.ReplaceAll(strings.Join(c.args, " "), dir+"/", ""), func(t *testing.T) {
			t.Parallel()
			p := Launch(t, []string{"CONFIG=" + in("none.yml")}, c.args...).Listening()
			p.Get("/x").Want(t, 200, c.x)
			for _, name := range c.all {
				p.Get("/"+name).Want(t, 200, name)
			}
			n := len(p.Output())
			p.Signal(syscall.SIGHUP)
			p.WaitLine(n, "configuration reloaded", fmt.Sprint("endpoints=", 2*len(c.all)))
		})
	}
}

func TestDirectory_OtherFlagsStillStandOnce(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yml": One("fine")})
	code, stdout, stderr := Refused(t, nil, "-c", dir, "-m", dir, "--mocks", dir)
	if code != 2 || stdout != "" || !strings.Contains(stderr, "--mocks: given twice, first as -m") {
		t.Errorf("got exit code %d, %q and %q", code, stdout, stderr)
	}
}

func TestDirectory_MistakesOfAllItsFilesAreReportedInOrder(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		// Errors in templates are found later than errors in keys.
		"a.yml": At("/a", "fine") + "- endpoint:\n    path: /b\n    response: {body: '{{ nobody }}'}\n",
		"b.yml": "- endpoint: {path: /c, respons: {}}\n",
		"c.yml": "- endpoint: {path: /d\n",
		"d.yml": At("/e", "{{ nobody }}"),
		"e.yml": At("/f", "fine"),
	})
	last := harness.WriteFile(t, t.TempDir(), "0.yml", "- endpoint: {path: x, response: {}}\n")
	want := []string{dir + "/a.yml:4:26: [1].endpoint.response.body: ", dir + "/b.yml:1:24: [0].endpoint.respons: ",
		dir + "/c.yml:1:", dir + "/d.yml:1:", last + ":1:20: [0].endpoint.path: "}
	said := refusalOf(t, dir, "-c", last)
	if len(said) != len(want) {
		t.Fatalf("it prints\n%s\nwant %d lines", strings.Join(said, "\n"), len(want))
	}
	for i := range want {
		if !strings.HasPrefix(said[i], want[i]) {
			t.Errorf("line %d is %q, want %s…", i+1, said[i], want[i])
		}
	}
}

func TestDirectory_NamesAreReportedAsGiven(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"conf/a.yml": "- endpoint: {path: a, response: {}}\n"})
	p := LaunchIn(t, dir, nil, "validate", "-c", "conf")
	if code := p.Exit(); code != 2 || len(p.Output()) != 1 || !strings.HasPrefix(p.Output()[0], "conf/a.yml:1:20: [0].endpoint.path: ") {
		t.Errorf("got exit code %d and %q", code, p.Output())
	}
}

func TestDirectory_ValidateCountsTheEndpointsOfAllFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.yml": At("/a", "a"), "b.yml": At("/b", "b") + At("/c", "c")})
	for given, want := range map[string]string{
		dir: "valid: 3 endpoints\n  GET /a\n  GET /b\n  GET /c\n", filepath.Join(dir, "a.yml"): "valid: 1 endpoint\n  GET /a\n",
	} {
		code, stdout, stderr := Refused(t, nil, "validate", "-c", given)
		if code != 0 || stderr != "" || !strings.HasSuffix(stdout, want) {
			t.Errorf("got exit code %d, %q and %q, want 0 and %q", code, stdout, stderr, want)
		}
	}
}

func TestDirectory_OneThatCannotBeServedIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		says  []string
	}{
		{"it is empty", nil, []string{"", "contains no file to read", ".yml, .yaml, .json", "subdirectories"}},
		{"it holds other files only", map[string]string{"a.txt": "x", ".a.yml": One("x"), "sub/a.yml": One("x")},
			[]string{"", "contains no file to read", ".yml, .yaml, .json"}},
		{"a file in it is empty", map[string]string{"a.yml": ""}, []string{"/a.yml", "the file is empty"}},
		{"data lies beside its configurations", map[string]string{"a.yml": One("x"), "users.json": `[{"id": 1}, {"id": 2}]`},
			[]string{"/users.json:1:1", "no item of this list has the key endpoint", "keep data in a subdirectory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, c.files)
			said := refusalOf(t, dir)
			if len(said) != 1 || !strings.HasPrefix(said[0], dir+c.says[0]+": ") || !containsAll(said[0], c.says) {
				t.Errorf("it prints %q, want one line about %s%s that contains %q", said, dir, c.says[0], c.says)
			}
		})
	}
	t.Run("there is none", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "conf")
		if said := refusalOf(t, dir); len(said) != 1 || said[0] != dir+": there is no such file" {
			t.Errorf("it prints %q", said)
		}
	})
}

func TestDirectory_ChangesOfItsFilesAreServed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	dir := tree(t, map[string]string{"a.yml": At("/a", "a"), "b.yml": At("/b", "b")})
	p := Start(t, "-c", dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name   string
		change func()
		want   map[string]string // "" stands for a 404
	}{
		{"a file is added", func() { harness.WriteFile(t, dir, "c.yml", At("/c", "c")+At("/a", "late")) }, map[string]string{"/a": "a", "/b": "b", "/c": "c"}},
		{"a file is changed", func() { harness.WriteFile(t, dir, "c.yml", At("/c", "changed")+At("/a", "late")) }, map[string]string{"/a": "a", "/c": "changed"}},
		{"a file is renamed in front of another", func() { rename(t, in("c.yml"), in("0.yml")) }, map[string]string{"/a": "late", "/b": "b"}},
		{"a file is removed", func() { remove(t, in("0.yml")) }, map[string]string{"/a": "a", "/c": ""}},
		{"a file is hidden", func() { rename(t, in("b.yml"), in(".b.yml")) }, map[string]string{"/a": "a", "/b": ""}},
		{"a link to a file is added", func() { symlink(t, ".b.yml", in("b.json")) }, map[string]string{"/b": "b"}},
		{"what it links to is changed", func() { harness.WriteFile(t, dir, ".b.yml", At("/b", "linked")) }, map[string]string{"/b": "linked"}},
		{"the directory is replaced", func() {
			next := tree(t, map[string]string{"x.yml": At("/x", "x")})
			rename(t, dir, dir+"~")
			symlink(t, next, dir)
		}, map[string]string{"/x": "x", "/a": ""}},
	} {
		n := len(p.Output())
		c.change()
		p.WaitLine(n, "configuration reloaded", "a file changed")
		for path, want := range c.want {
			if got := p.Get(path); want == "" && got.Status != 404 || want != "" && (got.Status != 200 || got.Body != want) {
				t.Errorf("%s: %s answers %d %s, want %q", c.name, path, got.Status, got.Body, want)
			}
		}
	}
}

func TestDirectory_SubdirectoriesAreReadWhenTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"b.yml": At("/b", "b") + At("/x", "of b"), "a/a.yml": At("/a", "a") + At("/x", "of a"), "a/.git/c.yml": "no: yaml", ".d.yml": "no: yaml"})
	// The directory has a mounted ConfigMap with an item in a subdirectory, and a loop of links.
	(&configMap{t: t, dir: dir}).mount(map[string]string{"m.yml": At("/m", "m")})
	harness.WriteFile(t, dir, "..2026_0001/inner/i.yml", At("/i", "i"))
	symlink(t, "..data/inner", filepath.Join(dir, "inner"))
	symlink(t, "..", filepath.Join(dir, "a/up"))

	p := Start(t, "-c", dir+"/...")
	p.WaitLine(0, "left out of the configuration", "hidden files .d.yml")
	for path, want := range map[string]string{"/a": "a", "/b": "b", "/m": "m", "/i": "i", "/x": "of a"} {
		p.Get(path).Want(t, 200, want)
	}
	n := len(p.Output())
	harness.WriteFile(t, dir, "new/deep/n.yml", At("/n", "n"))
	p.WaitLine(n, "configuration reloaded", "endpoints=7")
	p.Get("/n").Want(t, 200, "n")
	n = len(p.Output())
	harness.WriteFile(t, dir, "..2026_0002/m.yml", At("/m", "m"))
	harness.WriteFile(t, dir, "..2026_0002/inner/i.yml", At("/i", "swapped"))
	symlink(t, "..2026_0002", filepath.Join(dir, "..data_tmp"))
	rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	p.WaitLine(n, "configuration reloaded", "endpoints=7")
	p.Get("/i").Want(t, 200, "swapped")
	n = len(p.Output())
	harness.WriteFile(t, dir, "a/broken.yml", "- endpoint: {path: x, response: {}}\n")
	p.WaitLine(n, "configuration not reloaded", filepath.Join(dir, "a", "broken.yml")+":1:20: ")
	p.Get("/i").Want(t, 200, "swapped")

	flat := Start(t, dir)
	flat.WaitLine(0, "left out of the configuration", "subdirectories a, inner, new ("+dir+"/... reads them); hidden files .d.yml")
	if got := flat.Get("/a"); got.Status != 404 {
		t.Errorf("a subdirectory that was not asked for answers %d", got.Status)
	}
	code, stdout, stderr := Refused(t, nil, "validate", dir)
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, "left out: "+dir+": subdirectories a, inner, new (") {
		t.Errorf("validate: got exit code %d, %q and %q", code, stdout, stderr)
	}
}

func TestDirectory_ABrokenChangeIsLoggedAndTheLastGoodOneServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		says  [][]string
	}{
		{"a new file has a mistake", func(t *testing.T, dir string) {
			harness.WriteFile(t, dir, "b.yml", "- endpoint: {path: b, response: {}}\n")
		},
			[][]string{{"/b.yml:1:20: [0].endpoint.path"}}},
		{"two files have", func(t *testing.T, dir string) {
			harness.WriteFile(t, dir, ".b.yml", "- endpoint: {path: b, response: {}}\n")
			harness.WriteFile(t, dir, ".c.yml", "- endpoint: {path: /c, respons: {}}\n")
			rename(t, filepath.Join(dir, ".b.yml"), filepath.Join(dir, "b.yml"))
			rename(t, filepath.Join(dir, ".c.yml"), filepath.Join(dir, "c.yml"))
		}, [][]string{{"/b.yml:1:20: [0].endpoint.path"}, {"/c.yml:1:24: [0].endpoint.respons"}}},
		{"a link does not resolve", func(t *testing.T, dir string) { symlink(t, "nowhere", filepath.Join(dir, "b.yml")) },
			[][]string{{"/b.yml: there is no such file"}}},
		{"the last file is removed", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "a.yml")) },
			[][]string{{": the directory contains no file to read"}}},
		{"the directory is removed", func(t *testing.T, dir string) { remove(t, dir) }, [][]string{{": there is no such file"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "conf")
			harness.WriteFile(t, dir, "a.yml", One("good"))
			p := Start(t, "-c", dir)
			n := len(p.Output())
			c.spoil(t, dir)
			for _, parts := range c.says {
				p.WaitLine(n, append(parts, "configuration not reloaded", dir)...)
			}
			p.WaitLine(n, "last good configuration")
			p.Get("/a").Want(t, 200, "good")
			n = len(p.Output())
			remove(t, dir)
			harness.WriteFile(t, dir, "a.yml", One("mended"))
			p.WaitLine(n, "configuration reloaded")
			p.Get("/a").Want(t, 200, "mended")
		})
	}
}

// configMap is a directory laid out like a ConfigMap that the kubelet mounts: each file is a link
// into ..data, which is a link to the directory of one version.
type configMap struct {
	t       *testing.T
	dir     string
	version int
}

// mount installs the next version in the same order as the kubelet: it writes the files, swaps
// ..data with one rename, and removes the old version. All versions have the same files: the link
// of a file that is added or removed would not resolve for a while, which is an error if the
// directory is read at that moment.
func (m *configMap) mount(files map[string]string) {
	m.t.Helper()
	old := fmt.Sprintf("..2026_%04d", m.version)
	m.version++
	next := fmt.Sprintf("..2026_%04d", m.version)
	for name, content := range files {
		harness.WriteFile(m.t, filepath.Join(m.dir, next), name, content)
	}
	symlink(m.t, next, filepath.Join(m.dir, "..data_tmp"))
	rename(m.t, filepath.Join(m.dir, "..data_tmp"), filepath.Join(m.dir, "..data"))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(m.dir, name)); err != nil {
			symlink(m.t, "..data/"+name, filepath.Join(m.dir, name))
		}
	}
	remove(m.t, filepath.Join(m.dir, old))
}

func TestDirectory_AMountedConfigMapIsSwappedUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	const clients, swaps = 24, 12
	// Endpoints move from file to file: a configuration made from two versions would lack some of
	// them.
	version := func(n int) map[string]string {
		files := map[string]string{"a.yml": At("/version", fmt.Sprint(n)), "b.yml": At("/kept", "kept"), "c.yml": At("/c", "c")}
		files[[]string{"a.yml", "b.yml"}[n/2%2]] += At("/also-moved", "also moved")
		files[[]string{"c.yml", "a.yml"}[n/2%2]] += At("/moved", "moved")
		return files
	}
	m := &configMap{t: t, dir: t.TempDir()}
	m.mount(version(0))
	l := &load{p: Start(t, "-c", m.dir), failed: make(chan string, 10), stop: make(chan struct{})}
	for i := range clients {
		path := []string{"/version", "/kept", "/moved", "/also-moved"}[i%4]
		l.clients.Go(func() { l.client(path) })
	}
	for n := 2; n <= 2*swaps; n += 2 {
		lines := len(l.p.Output())
		l.written.Store(int64(n))
		m.mount(version(n))
		if n%6 == 0 {
			l.p.Signal(syscall.SIGHUP)
		}
		l.p.WaitLine(lines, "configuration reloaded")
		l.applied.Store(int64(n))
	}
	close(l.stop)
	l.clients.Wait()
	close(l.failed)
	for failure := range l.failed {
		t.Errorf("a request failed: %s", failure)
	}
	if l.sent.Load() < clients {
		t.Errorf("only %d requests were answered", l.sent.Load())
	}
	if log := strings.Join(l.p.Output(), "\n"); strings.Contains(log, "not reloaded") {
		t.Errorf("a swap was reported as a broken change:\n%s", log)
	}
}

func TestDirectory_OfAThousandFilesIsServedAndWatched(t *testing.T) {
	t.Parallel()
	const many = 1000
	dir := t.TempDir()
	for i := range many {
		harness.WriteFile(t, dir, fmt.Sprintf("%04d.yml", i), At(fmt.Sprintf("/%d", i), "old"))
	}
	p := Start(t, "-c", dir)
	p.WaitLine(0, "listening", fmt.Sprint("endpoints=", many))
	p.Get("/999").Want(t, 200, "old")
	n := len(p.Output())
	harness.WriteFile(t, dir, "0999.yml", At("/999", "new"))
	p.WaitLine(n, "configuration reloaded")
	p.Get("/999").Want(t, 200, "new")
	p.Get("/0").Want(t, 200, "old")
}
