package fetcher

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config/item"
	"mockserver/internal/files"
	"mockserver/renderer"
)

func TestFixedFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hello.json"), `{"hello": "{{query-params.name}}"}`)
	write(t, filepath.Join(dir, "bom.json"), "\xef\xbb\xbf{\"a\":1}")
	write(t, filepath.Join(dir, "empty.json"), "")
	tests := []struct {
		name, path string
		raw        bool
		want       string
	}{
		{"a local file is rendered as a template", "hello.json", false, `{"hello": "a\"b"}`},
		{"template: false leaves it as it is", "hello.json", true, `{"hello": "{{query-params.name}}"}`},
		{"an absolute path works", filepath.Join(dir, "hello.json"), false, `{"hello": "a\"b"}`},
		{"a fixed path may go up", "../" + filepath.Base(dir) + "/hello.json", false, `{"hello": "a\"b"}`},
		{"a byte order mark is left out", "bom.json", false, `{"a":1}`},
		{"a raw file keeps its byte order mark", "bom.json", true, "\xef\xbb\xbf{\"a\":1}"},
		{"an empty file is served empty", "empty.json", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLoader(t, Options{})
			s, problems := l.Source(jsonBody(tt.path), dir, renderer.JSON, tt.raw, &renderer.Scope{})
			if s == nil {
				t.Fatal(problems)
			}
			if got := bodyOf(t, s, "name=a%22b"); got != tt.want {
				t.Errorf("body = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRelativePathsNextToTheConfigurationComeFirst(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	t.Chdir(cwd)
	write(t, filepath.Join(dir, "both.json"), `"config"`)
	write(t, filepath.Join(cwd, "both.json"), `"working"`)
	write(t, filepath.Join(cwd, "data", "only.json"), `"working"`)
	write(t, filepath.Join(dir, "data", "other.json"), `"config"`)
	write(t, filepath.Join(cwd, "top.json"), `"working"`)
	l := newTestLoader(t, Options{})
	for _, tt := range []struct{ name, path, query, want string }{
		{"both have the file", "both.json", "", `"config"`},
		{"only the working directory has it", "data/only.json", "", `"working"`},
		{"a rendered path, beside the configuration", "data/{{query-params.f}}.json", "f=other", `"config"`},
		{"a rendered path, in the working directory", "data/{{query-params.f}}.json", "f=only", `"working"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, mustSource(t, l, jsonBody(tt.path), dir), tt.query); got != tt.want {
				t.Errorf("body = %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("without a fixed prefix only the configuration's directory counts", func(t *testing.T) {
		s := mustSource(t, l, jsonBody("{{query-params.f}}.json"), dir)
		if e := failure(t, s, "f=top"); e.Kind != NotFound {
			t.Errorf("kind = %v, want NotFound", e.Kind)
		}
	})
}

// secret is the content of files that no rendered path may reach.
const secret = "the secret"

// escapeTree creates a directory with files inside and secrets outside, and returns the
// configuration's directory, which is root/conf.
func escapeTree(t testing.TB) (root, dir string) {
	t.Helper()
	root = t.TempDir()
	dir = filepath.Join(root, "conf")
	write(t, filepath.Join(root, "secret.json"), secret)
	write(t, filepath.Join(dir, "secret.json"), secret)
	write(t, filepath.Join(dir, "data", "in.json"), "inside")
	write(t, filepath.Join(dir, "data", "sub", "deep.json"), "deep")
	write(t, filepath.Join(dir, "data", "dir.json", "x"), "")
	return root, dir
}

func TestRenderedPathStaysInItsDirectory(t *testing.T) {
	root, dir := escapeTree(t)
	l := newTestLoader(t, Options{})
	s := mustSource(t, l, jsonBody("data/{{query-params.f}}.json"), dir)
	for _, tt := range []struct{ name, query, want string }{
		{"a file", "f=in", "inside"},
		{"a file in a directory below", "f=sub%2Fdeep", "deep"},
		{"up and back inside", "f=sub/../in", "inside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(t, s, tt.query); got != tt.want {
				t.Errorf("body = %q, want %q", got, tt.want)
			}
		})
	}
	for _, tt := range []struct{ name, query string }{
		{"up", "f=../secret"},
		{"up, with an encoded slash", "f=..%2Fsecret"},
		{"up, all encoded", "f=%2e%2e%2fsecret"},
		{"up, encoded twice", "f=%252e%252e%252fsecret"},
		{"up twice", "f=../../secret"},
		{"down and up", "f=sub/../../secret"},
		{"up and down", "f=../data/in"},
		{"absolute", "f=" + filepath.ToSlash(filepath.Join(root, "secret"))},
		{"a backslash", `f=..%5Csecret`},
		{"a NUL", "f=in.json%00"},
		{"nothing", "f="},
		{"missing", ""},
		{"a directory", "f=dir"},
		{"a trailing slash", "f=in.json/"},
		{"a name that is too long", "f=" + strings.Repeat("x", 5000)},
		{"a file that does not exist", "f=none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := failure(t, s, tt.query)
			if e.Kind != NotFound {
				t.Errorf("kind = %v, want NotFound: %v", e.Kind, e)
			}
			if !strings.Contains(e.Message, `"data/`) || tt.name != "absolute" && strings.Contains(e.Message, root) {
				t.Errorf("message %q should name the path as rendered and no absolute directory", e.Message)
			}
		})
	}
	if n := len(s.shelf.entries); n > 4 {
		t.Errorf("%d entries are kept after failures, want only the files that exist", n)
	}
}

func TestRenderedPathWithoutPrefixStaysNextToTheConfiguration(t *testing.T) {
	_, dir := escapeTree(t)
	l := newTestLoader(t, Options{})
	s := mustSource(t, l, jsonBody("{{query-params.f}}"), dir)
	if got := bodyOf(t, s, "f=data/in.json"); got != "inside" {
		t.Errorf("body = %q, want %q", got, "inside")
	}
	for _, query := range []string{"f=../secret.json", "f=" + dir + "/data/in.json", "f=/etc/passwd", "f=.", "f=.."} {
		if e := failure(t, s, query); e.Kind != NotFound {
			t.Errorf("%s: kind = %v, want NotFound", query, e.Kind)
		}
	}
}

func TestRenderedPathWithAnAbsolutePrefix(t *testing.T) {
	_, dir := escapeTree(t)
	l := newTestLoader(t, Options{})
	s := mustSource(t, l, jsonBody(filepath.ToSlash(dir)+"/data/{{query-params.f}}"), "elsewhere")
	if got := bodyOf(t, s, "f=in.json"); got != "inside" {
		t.Errorf("body = %q, want %q", got, "inside")
	}
	if e := failure(t, s, "f=../secret.json"); e.Kind != NotFound {
		t.Errorf("kind = %v, want NotFound", e.Kind)
	}
}

func TestSymbolicLinks(t *testing.T) {
	root, dir := escapeTree(t)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, "data", name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	link(filepath.Join(root, "secret.json"), "absolute.json")
	link("../secret.json", "up.json")
	link("..", "updir")
	link("sub/deep.json", "inside.json")
	link("loop.json", "loop.json")
	l := newTestLoader(t, Options{})
	s := mustSource(t, l, jsonBody("data/{{query-params.f}}.json"), dir)
	if got := bodyOf(t, s, "f=inside"); got != "deep" {
		t.Errorf("a link inside = %q, want %q", got, "deep")
	}
	for _, f := range []string{"absolute", "up", "updir/secret", "loop"} {
		if e := failure(t, s, "f="+f); e.Kind != NotFound {
			t.Errorf("%s: kind = %v, want NotFound", f, e.Kind)
		}
	}
	if got := bodyOf(t, mustSource(t, l, jsonBody("data/up.json"), dir), ""); got != secret {
		t.Errorf("a fixed path that is a link = %q, want it followed", got)
	}
}

func TestChangesOnDiskAreSeen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data", "f.json")
	for _, tt := range []struct{ name, path string }{
		{"a fixed path", "data/f.json"},
		{"a rendered path", "data/{{query-params.f}}.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, file, `"one"`)
			c := newClock()
			l := newTestLoader(t, Options{Now: c.now})
			s := mustSource(t, l, jsonBody(tt.path), dir)
			gone, broken := NotFound, Unavailable
			if s.fixed {
				gone = Unavailable
			}
			expect := func(want string) {
				t.Helper()
				if got := bodyOf(t, s, "f=f"); got != want {
					t.Errorf("body = %s, want %s", got, want)
				}
			}
			expect(`"one"`)
			write(t, file, `"other"`)
			expect(`"one"`) // within the interval the file is not checked
			noticed(t, c, s, "f=f")
			expect(`"other"`)

			os.Chtimes(file, c.now(), c.now())
			write(t, file, `"third"`)
			when := c.now().Add(-time.Hour)
			os.Chtimes(file, when, when)
			noticed(t, c, s, "f=f")
			expect(`"third"`)

			// An editor may save a file by renaming another one, here with the same size and time.
			write(t, file+".new", `"forth"`)
			os.Chtimes(file+".new", when, when)
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
			noticed(t, c, s, "f=f")
			expect(`"forth"`)

			write(t, file, "[\n  {{nonsense-variable}}\n]")
			noticed(t, c, s, "f=f")
			e := failure(t, s, "f=f")
			if e.Kind != broken || !strings.Contains(e.Message, "data/f.json:2:") || !strings.Contains(e.Message, "nonsense-variable") {
				t.Errorf("broken file: %v %q, want Unavailable with position and message", e.Kind, e.Message)
			}
			c.advance(checkInterval)
			if e := failure(t, s, "f=f"); e.Kind != broken {
				t.Errorf("still broken: kind = %v, want Unavailable", e.Kind)
			}
			write(t, file, `"mended"`)
			noticed(t, c, s, "f=f")
			expect(`"mended"`)

			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			noticed(t, c, s, "f=f")
			e = failure(t, s, "f=f")
			if e.Kind != gone || e.Message != `file "data/f.json": it does not exist` {
				t.Errorf("vanished file: %v %q", e.Kind, e.Message)
			}
			write(t, file, `"back"`)
			noticed(t, c, s, "f=f")
			expect(`"back"`)
		})
	}
}

func TestFileWrittenTwiceWithinOneTickIsSeen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.json")
	c := newClock()
	stamp := c.now()
	same := func(content string) {
		write(t, file, content)
		if err := os.Chtimes(file, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	same(`"one"`)
	l := newTestLoader(t, Options{Now: c.now})
	s := mustSource(t, l, jsonBody("f.json"), dir)
	same(`"two"`) // same file, size and time
	noticed(t, c, s, "")
	if got := bodyOf(t, s, ""); got != `"two"` {
		t.Errorf("body = %s, want the second content", got)
	}
	c.advance(time.Hour)
	noticed(t, c, s, "")
	k := s.pinned.Load().kept.Load()
	noticed(t, c, s, "")
	if s.pinned.Load().kept.Load() != k {
		t.Error("a file that has been still for an hour was read again")
	}
}

// A program may set the modification time of what it changes back.
func TestFileChangedInPlaceWithinItsTimeAndSizeIsSeen(t *testing.T) {
	dir := t.TempDir()
	old := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	book := func(value int) string {
		f := newBook(t)
		setRows(t, f, "S", []any{"a"}, []any{value})
		return string(bookBytes(t, f))
	}
	first, second := book(1), book(2)
	for n := 3; len(second) != len(first); n++ {
		second = book(n)
	}
	write(t, filepath.Join(dir, "f.json"), `"one"`)
	write(t, filepath.Join(dir, "f.xlsx"), first)
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	for file, changed := range map[string]struct {
		body    *item.ExternalBody
		content string
	}{"f.json": {jsonBody("f.json"), `"two"`}, "f.xlsx": {sheetBody("f.xlsx", "S"), second}, "g.json": {jsonBody("{{query-params.f}}.json"), `"two"`}} {
		path := filepath.Join(dir, file)
		if file == "g.json" {
			write(t, path, `"one"`)
		}
		stamp(t, path, old)
		s := mustSource(t, l, changed.body, dir)
		was := bodyOf(t, s, "f=g")
		before, err := os.Stat(path)
		check(t, err)
		for after := before; files.Same(before, after); { // within a tick of the file system
			check(t, os.WriteFile(path, []byte(changed.content), 0o600))
			stamp(t, path, old)
			after, err = os.Stat(path)
			check(t, err)
		}
		noticed(t, c, s, "f=g")
		if got := bodyOf(t, s, "f=g"); got == was {
			t.Errorf("%s is still served as %s", file, was)
		}
	}
}

func TestFirstLoadIsDoneOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "f.json"), `"{{query-params.x}}"`)
	l := newTestLoader(t, Options{})
	s := mustSource(t, l, jsonBody("data/{{query-params.f}}.json"), dir)
	const n = 32
	templates := make([]*renderer.Template, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		r := request(t, "f=f")
		done.Go(func() {
			start.Wait()
			b, err := s.Body(r)
			if err != nil {
				t.Error(err)
			}
			templates[i] = b.Template
		})
	}
	start.Done()
	done.Wait()
	for i, got := range templates {
		if got == nil || got != templates[0] {
			t.Fatalf("request %d got template %p, the first %p: compiled more than once", i, got, templates[0])
		}
	}
}

func TestFilesOverTheLimitAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f.json"), `"123456789"`)
	for _, tt := range []struct {
		limit int64
		ok    bool
	}{{10, false}, {11, true}} {
		l := newTestLoader(t, Options{MaxFile: tt.limit})
		s, problems := l.Source(jsonBody("f.json"), dir, renderer.JSON, false, &renderer.Scope{})
		if (s != nil) != tt.ok {
			t.Errorf("limit %d: source %v, %v", tt.limit, s, problems)
		}
		if !tt.ok && !strings.Contains(problems.Error(), "too large: more than 10 bytes") {
			t.Errorf("message = %q", problems.Error())
		}
	}
}

func TestUnreadableFileIsUnavailable(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("everything is readable here")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "f.json"), "1")
	os.Chmod(filepath.Join(dir, "data", "f.json"), 0)
	l := newTestLoader(t, Options{})
	if e := failure(t, mustSource(t, l, jsonBody("data/{{query-params.f}}.json"), dir), "f=f"); e.Kind != Unavailable {
		t.Errorf("kind = %v, want Unavailable", e.Kind)
	}
}

func TestTroubledErrorsAreNotTheClientsFault(t *testing.T) {
	s := &Source{}
	if e := s.fileError("x", &os.PathError{Op: "open", Path: "/abs/x", Err: os.ErrPermission}); e.Kind != Unavailable || strings.Contains(e.Message, "/abs") {
		t.Errorf("permission denied on a rendered path = %v %q, want Unavailable without the directory", e.Kind, e.Message)
	}
}

func TestRawFilesAreSharedBetweenSnapshots(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f.json"), "1")
	l := newTestLoader(t, Options{})
	var bodies [2]Body
	for i := range bodies {
		s, problems := l.Source(jsonBody("f.json"), dir, renderer.JSON, true, &renderer.Scope{})
		if s == nil {
			t.Fatal(problems)
		}
		bodies[i], _ = s.Body(request(t, ""))
	}
	if &bodies[0].Bytes[0] != &bodies[1].Bytes[0] {
		t.Error("a reload read the file again")
	}
}

// FuzzRenderedPath renders any value into a path, and must never get a file outside of the
// directory.
func FuzzRenderedPath(f *testing.F) {
	root, dir := escapeTree(f)
	os.Symlink("..", filepath.Join(dir, "data", "up"))
	os.Symlink(filepath.Join(root, "secret.json"), filepath.Join(dir, "data", "link"))
	for _, seed := range []string{
		"in.json", "../secret.json", "..\\secret.json", "/etc/passwd", "sub/../../secret.json", "up/secret.json", "link",
		"%2e%2e/secret.json", "in.json\x00", "./in.json", "//secret.json", "sub/../in.json", "...", "C:\\x", "\xff",
	} {
		f.Add(seed)
	}
	l := newTestLoader(f, Options{})
	prefixed := mustSource(f, l, jsonBody("data/{{query-params.f}}"), dir)
	partial := mustSource(f, l, jsonBody("data/x{{query-params.f}}"), dir)
	inside := map[string]bool{"inside": true, "deep": true, "": true}
	f.Fuzz(func(t *testing.T, name string) {
		r := request(t, "f="+queryEscape(name))
		for _, s := range []*Source{prefixed, partial} {
			b, err := s.Body(r)
			if err != nil {
				continue
			}
			if got := render(b, r); !inside[got] {
				t.Fatalf("%q led to %q", name, got)
			}
		}
	})
}

// queryEscape percent-encodes every byte, so that any value arrives unchanged.
func queryEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}
