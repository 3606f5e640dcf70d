package fetcher

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/renderer"
)

// lookOnce requests a body when the next check is due, and waits until the read that it may start
// is done.
func lookOnce(t testing.TB, c *clock, s *Source, query string) {
	t.Helper()
	c.advance(checkInterval)
	_, _ = s.Body(request(t, query)) // the result is the previous content, and does not matter
	s.loader.running.Wait()
}

// noticed makes the two checks that are needed to notice a change.
func noticed(t testing.TB, c *clock, s *Source, query string) {
	t.Helper()
	lookOnce(t, c, s, query)
	lookOnce(t, c, s, query)
}

// stamp sets the modification time of a file.
func stamp(t testing.TB, file string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(file, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestHalfWrittenFileIsNotServed(t *testing.T) {
	for _, tt := range []struct{ name, path, whole string }{
		{"a fixed path", "data/f.json", `{"a":1,"b":2}`},
		{"a rendered path", "data/{{query-params.f}}.json", `{"a":1,"b":2}`},
		{"a template", "data/f.json", `{"a":"{{query-params.f}}","b":2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "data", "f.json")
			c := newClock()
			save := func(content string) {
				write(t, file, content)
				stamp(t, file, c.now())
			}
			save(`{"old":0}`)
			s := mustSource(t, newTestLoader(t, Options{Now: c.now}), jsonBody(tt.path), dir)
			if got := bodyOf(t, s, "f=f"); got != `{"old":0}` {
				t.Fatalf("at first = %s", got)
			}
			for _, part := range []string{"", tt.whole[:8], tt.whole[:10], tt.whole} {
				c.advance(checkInterval)
				save(part)
				for range 2 { // one request that checks the file, and one that does not
					if got := bodyOf(t, s, "f=f"); got != `{"old":0}` {
						t.Errorf("after writing %q: %q, want the copy", part, got)
					}
				}
				s.loader.running.Wait()
			}
			lookOnce(t, c, s, "f=f")
			if got, want := bodyOf(t, s, "f=f"), strings.ReplaceAll(tt.whole, "{{query-params.f}}", "f"); got != want {
				t.Errorf("once the file stops changing = %q, want %q", got, want)
			}
		})
	}
}

// A file that is replaced by being deleted and created again is missing for a moment.
func TestFileThatIsMissingForAMomentIsServedFromTheCopy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.json")
	write(t, file, `"one"`)
	c := newClock()
	s := mustSource(t, newTestLoader(t, Options{Now: c.now}), jsonBody("f.json"), dir)
	check(t, os.Remove(file))
	lookOnce(t, c, s, "")
	if got := bodyOf(t, s, ""); got != `"one"` {
		t.Errorf("after one look = %s, want the copy", got)
	}
	write(t, file, `"two"`)
	noticed(t, c, s, "")
	if got := bodyOf(t, s, ""); got != `"two"` {
		t.Errorf("made again = %s", got)
	}
}

// A file that is not requested is not checked; the next request gets its new content.
func TestFirstRequestAfterALongWhileSeesTheChange(t *testing.T) {
	for _, tt := range []struct {
		name string
		age  time.Duration // of the change
		want string
	}{
		{"a change a second old is seen at once", time.Second, `"two"`},
		{"one that may go on is not", idleTime - 1, `"one"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "f.json")
			c := newClock()
			write(t, file, `"one"`)
			stamp(t, file, c.now().Add(-time.Hour))
			s := mustSource(t, newTestLoader(t, Options{Now: c.now}), jsonBody("f.json"), dir)
			c.advance(time.Hour)
			write(t, file, `"two"`)
			stamp(t, file, c.now().Add(-tt.age))
			if got := bodyOf(t, s, ""); got != tt.want {
				t.Errorf("body = %s, want %s", got, tt.want)
			}
		})
	}
}

// All background slots are in use, so that no file can be read again: a request that waited for
// that would never return.
func TestNobodyWaitsForAReload(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.json")
	write(t, file, `"one"`)
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	s := mustSource(t, l, jsonBody("f.json"), dir)
	release := make(chan struct{})
	e := s.pinned.Load()
	for range maxReloads {
		if !l.background(func(context.Context) { <-release }) {
			t.Fatal("background refuses a reload")
		}
	}
	if l.background(func(context.Context) {}) {
		t.Error("more reloads run than maxReloads")
	}
	write(t, file, `"other"`)
	for range 5 {
		c.advance(checkInterval)
		if got := bodyOf(t, s, ""); got != `"one"` {
			t.Errorf("while nothing can be read = %s, want the copy", got)
		}
	}
	close(release)
	l.running.Wait()

	// A reload that hangs keeps the turn; other requests continue to get the copy.
	e.turn.Lock()
	for range 5 {
		c.advance(checkInterval)
		if got := bodyOf(t, s, ""); got != `"one"` {
			t.Errorf("while it is read = %s, want the copy", got)
		}
	}
	e.turn.Unlock()
	lookOnce(t, c, s, "")
	if got := bodyOf(t, s, ""); got != `"other"` {
		t.Errorf("afterwards = %s, want the new content", got)
	}
}

func TestCloseEndsTheBackground(t *testing.T) {
	l := NewLoader(0)
	ended := false
	l.background(func(ctx context.Context) {
		<-ctx.Done()
		ended = true
	})
	l.Close(context.Background())
	if !ended {
		t.Error("Close did not wait")
	}
	if l.background(func(context.Context) {}) {
		t.Error("background work was started after Close")
	}
}

// There is no request whose recover would catch a panic, so a panic would stop the program.
func TestPanicWhileReadingAgainIsAnError(t *testing.T) {
	s := &Source{ext: jsonBody("f.json")} // no loader: reading panics
	s.file = "look_test.go"
	k := s.reread(t.Context(), nil, time.Now(), "f.json", "")
	if k == nil || k.err == nil || k.err.Kind != Unavailable {
		t.Errorf("reread = %+v, want Unavailable", k)
	}
}

// A file that was changed recently is read again at each check, since another change might go
// unnoticed, but its content is converted only if it is different.
func TestSameContentIsNotConvertedAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.json")
	c := newClock()
	write(t, file, `"{{query-params.x}}"`)
	stamp(t, file, c.now())
	s := mustSource(t, newTestLoader(t, Options{Now: c.now}), jsonBody("f.json"), dir)
	r := request(t, "")
	first, _ := s.Body(r)
	k := s.pinned.Load().kept.Load()
	for range 3 {
		lookOnce(t, c, s, "")
	}
	stamp(t, file, c.now()) // touched
	noticed(t, c, s, "")
	again, err := s.Body(r)
	if err != nil || again.Template != first.Template {
		t.Errorf("template %p, then %p, %v: compiled again", first.Template, again.Template, err)
	}
	if s.pinned.Load().kept.Load() == k {
		t.Error("it was not read again at all")
	}
}

// The file is written to between reading it and checking it afterwards.
func TestFileThatChangesWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.json")
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	left := 0
	l.readAll = func(r io.Reader, size, limit int64) ([]byte, error) {
		content, err := new(reader).readAll(r, size, limit)
		if left > 0 {
			left--
			write(t, file, `"`+strings.Repeat("x", left)+`"`)
		}
		return content, err
	}
	write(t, file, `"half`)
	left = 2
	s := mustSource(t, l, jsonBody("f.json"), dir)
	if got := bodyOf(t, s, ""); got != `""` {
		t.Errorf("read at first = %s, want the final content", got)
	}
	write(t, file, `"changed"`)
	lookOnce(t, c, s, "")
	left = 100
	lookOnce(t, c, s, "")
	if got := bodyOf(t, s, ""); got != `""` {
		t.Errorf("while it changes at each read = %s, want the copy", got)
	}
	left = 0
	noticed(t, c, s, "")
	if got, want := bodyOf(t, s, ""), `"`+strings.Repeat("x", 100-maxAttempts)+`"`; got != want {
		t.Errorf("once the file stops changing = %s, want %s", got, want)
	}
}

func TestLooks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.json")
	l := newTestLoader(t, Options{})
	s := &Source{loader: l, file: file}
	missing := s.look("f.json")
	write(t, file, "1")
	there := s.look("f.json")
	for _, tt := range []struct {
		name string
		a, b look
		same bool
	}{
		{"the same file", there, s.look("f.json"), true},
		{"missing twice", missing, missing, true},
		{"missing and there", missing, there, false},
		{"no look at all is like no other", look{}, look{}, false},
		{"no look and a missing file", look{}, missing, false},
	} {
		if tt.a.same(tt.b) != tt.same || tt.b.same(tt.a) != tt.same {
			t.Errorf("%s: same = %v, want %v", tt.name, !tt.same, tt.same)
		}
	}
}

func TestTemplatedPathWithoutItsDirectoryIsAWarning(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	t.Chdir(cwd)
	write(t, filepath.Join(dir, "here", "x"), "")
	write(t, filepath.Join(cwd, "there", "x"), "")
	write(t, filepath.Join(dir, "file"), "")
	for _, tt := range []struct{ name, path, want string }{
		{"nowhere", "none/{{query-params.f}}.json", `directory "none/" does not exist next to the configuration file, nor in the working directory; until it does, each request is answered 404`},
		{"absolute", "/none/at/all/{{query-params.f}}", `directory "/none/at/all/" does not exist; until it does, each request is answered 404`},
		{"below a file", "file/{{query-params.f}}", `directory "file/" does not exist next to the configuration file, nor in the working directory; until it does, each request is answered 404`},
		{"beside the configuration", "here/{{query-params.f}}", ""},
		{"in the working directory", "there/{{query-params.f}}", ""},
		{"no directory named", "{{query-params.f}}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, problems := newTestLoader(t, Options{}).Source(jsonBody(tt.path), dir, renderer.JSON, false, &renderer.Scope{})
			if s == nil {
				t.Fatalf("no source: %v", problems)
			}
			switch {
			case tt.want == "" && len(problems) > 0:
				t.Errorf("problems = %v, want none", problems)
			case tt.want != "" && (len(problems) != 1 || !problems[0].Warning || problems[0].What != tt.want || problems[0].Pos.Line != 5):
				t.Errorf("problems = %v, want the warning %s", problems, tt.want)
			}
		})
	}
}

func TestFileInADirectorysPlaceDoesNotHideTheWorkingDirectory(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	t.Chdir(cwd)
	write(t, filepath.Join(dir, "data"), "a file")
	write(t, filepath.Join(cwd, "data", "f.json"), `"working"`)
	l := newTestLoader(t, Options{})
	for _, path := range []string{"data/f.json", "data/{{query-params.f}}.json"} {
		if got := bodyOf(t, mustSource(t, l, jsonBody(path), dir), "f=f"); got != `"working"` {
			t.Errorf("%s = %s, want the one of the working directory", path, got)
		}
	}
}

func TestFilesOfABody(t *testing.T) {
	dir, cwd := t.TempDir(), t.TempDir()
	t.Chdir(cwd)
	cwd, _ = os.Getwd()
	t.Setenv("FETCHER_TEST_DIR", "from-env")
	for _, tt := range []struct {
		name, path, dir string
		want            []string
	}{
		{"beside the configuration, then the working directory", "d/f.json", dir, []string{filepath.Join(dir, "d", "f.json"), filepath.Join(cwd, "d", "f.json")}},
		{"a relative directory of the configuration", "f.json", "conf", []string{filepath.Join(cwd, "conf", "f.json"), filepath.Join(cwd, "f.json")}},
		{"both are one directory", "f.json", "", []string{filepath.Join(cwd, "f.json")}},
		{"an absolute path", filepath.Join(dir, "x.json"), dir, []string{filepath.Join(dir, "x.json")}},
		{"an environment variable is fixed", "{{env.FETCHER_TEST_DIR}}/f.json", dir, []string{filepath.Join(dir, "from-env", "f.json"), filepath.Join(cwd, "from-env", "f.json")}},
		{"a URL", "https://example.test/x", dir, nil},
		{"a rendered path", "d/{{query-params.f}}", dir, nil},
		{"a path that does not compile", "d/{{nonsense", dir, nil},
		{"no path", "", dir, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := filesOf(jsonBody(tt.path), tt.dir, os.LookupEnv); !slices.Equal(got, tt.want) {
				t.Errorf("filesOf = %q, want %q", got, tt.want)
			}
		})
	}
}

// A mount that hangs does not delay Close for longer than its context allows.
func TestCloseWaitsNoLongerThanItsContext(t *testing.T) {
	l := NewLoader(0)
	hanging := make(chan struct{})
	defer close(hanging)
	l.background(func(context.Context) { <-hanging })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	closed := make(chan struct{})
	go func() {
		l.Close(ctx)
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("Close waits for a read that hangs")
	}
}

// A read error may be temporary: the file is read again at the next check.
func TestReadErrorThatPassesDoesNotStick(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.json")
	write(t, file, `"fine"`)
	c := newClock()
	stamp(t, file, c.now().Add(-time.Hour))
	l := newTestLoader(t, Options{Now: c.now})
	s := mustSource(t, l, jsonBody("{{query-params.f}}"), dir)
	read := l.readAll
	l.readAll = func(io.Reader, int64, int64) ([]byte, error) { return nil, io.ErrUnexpectedEOF }
	if _, err := s.Body(request(t, "f=a.json")); err == nil {
		t.Fatal("no error")
	}
	l.readAll = read
	noticed(t, c, s, "f=a.json")
	if got := bodyOf(t, s, "f=a.json"); got != `"fine"` {
		t.Errorf("two looks later = %s", got)
	}
}
