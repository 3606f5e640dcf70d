package fetcher

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// clock is a clock that a test sets.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// Options are the settings of a loader in a test, where they differ from those of the program.
type Options struct {
	Now                          func() time.Time
	MaxRemote, MaxFile, MaxCache int64
}

func newTestLoader(t testing.TB, opts Options) *Loader {
	t.Helper()
	l := NewLoader(opts.MaxRemote)
	l.maxFile, l.cache.max = cmp.Or(opts.MaxFile, l.maxFile), cmp.Or(opts.MaxCache, l.cache.max)
	if opts.Now != nil {
		l.now = opts.Now
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

// at returns a text of the configuration at a line of its file.
func at(value string, line int) syntax.Text {
	return syntax.Text{Value: value, Pos: syntax.Pos{File: "mockserver.yml", Line: line, Column: 11}, Key: "[0].endpoint.response.external-body.path"}
}

func jsonBody(path string) *item.ExternalBody {
	return &item.ExternalBody{Provider: "json", Path: at(path, 5), Pos: at("", 4).Pos, Key: "[0].endpoint.response.external-body"}
}

func sheetBody(path, sheet string) *item.ExternalBody {
	ext := jsonBody(path)
	ext.Provider, ext.Sheet = "xlsx", at(sheet, 6)
	return ext
}

// mustSource prepares a source that is expected to be without errors.
func mustSource(t testing.TB, l *Loader, ext *item.ExternalBody, dir string) *Source {
	t.Helper()
	s, problems := l.Source(ext, dir, renderer.JSON, false, &renderer.Scope{})
	if err := problems.Err(); err != nil {
		t.Fatalf("Source(%q): %v", ext.Path.Value, err)
	}
	return s
}

// request returns a request with the given query, encoded as in a request line.
func request(t testing.TB, query string) *matcher.Request {
	t.Helper()
	r := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte("/x?" + query), Host: []byte("example.test")})
	t.Cleanup(func() { matcher.Release(r) })
	return r
}

// render returns the text of a body as the answer to r.
func render(b Body, r *matcher.Request) string {
	if b.Template != nil {
		return string(b.Template.Append(nil, r))
	}
	return string(b.Bytes)
}

// bodyOf returns the text that a source answers with; an error fails the test.
func bodyOf(t testing.TB, s *Source, query string) string {
	t.Helper()
	r := request(t, query)
	b, err := s.Body(r)
	if err != nil {
		t.Fatalf("Body(%s): %v", query, err)
	}
	return render(b, r)
}

// failure returns the error of a source; a success fails the test.
func failure(t testing.TB, s *Source, query string) *Error {
	t.Helper()
	r := request(t, query)
	b, err := s.Body(r)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Body(%s) = %q, %v; want an *Error", query, render(b, r), err)
	}
	return e
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSourceFindsMistakesWhenLoaded(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ok.json"), `{"a":1}`)
	write(t, filepath.Join(dir, "broken.json"), "{\n  \"a\": \"{{nonsense-variable}}\"\n}")
	write(t, filepath.Join(dir, "text.xlsx"), "this is no workbook")
	write(t, filepath.Join(dir, "old.xlsx"), "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old")
	write(t, filepath.Join(dir, "d", "x"), "")

	unknown := jsonBody("ok.json")
	unknown.Provider = "csv"
	tests := []struct {
		name string
		ext  *item.ExternalBody
		pos  string
		what []string
	}{
		{"a provider that does not exist", unknown, "mockserver.yml:4:11", []string{`"csv"`, "json or xlsx"}},
		{"no path", jsonBody(""), "mockserver.yml:4:11", []string{"path is missing"}},
		{"a path that is empty once compiled", jsonBody("{% raw %}{% endraw %}"), "mockserver.yml:5:11", []string{"path is empty"}},
		{"a fixed file that does not exist", jsonBody("none.json"), "mockserver.yml:5:11", []string{`"none.json"`, "does not exist", "working directory"}},
		{"a fixed absolute file that does not exist", jsonBody("/none/x.json"), "mockserver.yml:5:11", []string{`"/none/x.json" does not exist`}},
		{"a fixed path that is a directory", jsonBody("d"), "mockserver.yml:5:11", []string{`"d"`, "not a regular file"}},
		{"a path below a file", jsonBody("ok.json/x"), "mockserver.yml:5:11", []string{`"ok.json/x"`}},
		{"a placeholder in the path that does not exist", jsonBody("{{nonsense}}.json"), "mockserver.yml:5:", []string{"nonsense"}},
		{"a mistake inside the file's template", jsonBody("broken.json"), "broken.json:2:", []string{"nonsense-variable"}},
		{"a URL without a host", jsonBody("http:///x"), "mockserver.yml:5:11", []string{`"http:///x" is not a valid URL`, "names no host"}},
		{"a URL without a host and with a placeholder", jsonBody("http:///{{query-params.x}}"), "mockserver.yml:5:11", []string{"names no host"}},
		{"a URL with a bad port", jsonBody("http://example.test:port/x"), "mockserver.yml:5:11", []string{"is not a valid URL", `the port is "port"`}},
		{"a URL with a port out of range", jsonBody("http://a:99999/x"), "mockserver.yml:5:11", []string{`the port is "99999"; expected 1 to 65535`}},
		{"a bad port behind a host that is rendered", jsonBody("http://{{query-params.x}}:99999/x"), "mockserver.yml:5:11", []string{`the port is "99999"`}},
		{"a URL with a blank in its host", jsonBody("https://exa mple.test/x"), "mockserver.yml:5:22", []string{"a blank is not allowed in a URL"}},
		{"a workbook at a URL", sheetBody("http://example.test/x.xlsx", "A"), "mockserver.yml:5:11", []string{"not from a URL"}},
		{"a workbook without a sheet name", sheetBody("text.xlsx", ""), "mockserver.yml:4:11", []string{"sheet-name is missing"}},
		{"a workbook that is a text", sheetBody("text.xlsx", "A"), "mockserver.yml:5:11", []string{`"text.xlsx"`, "not a workbook"}},
		{"a workbook of the old format", sheetBody("old.xlsx", "A"), "mockserver.yml:5:11", []string{"old .xls format"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newTestLoader(t, Options{})
			s, problems := l.Source(tt.ext, dir, renderer.JSON, false, &renderer.Scope{})
			errs := problems.Errors()
			if s != nil || len(errs) == 0 {
				t.Fatalf("Source = %v, %v; want no source and an error", s, problems)
			}
			if got := errs[0].Pos.String(); !strings.HasPrefix(got, tt.pos) {
				t.Errorf("position = %s, want %s", got, tt.pos)
			}
			if errs[0].Key == "" {
				t.Error("the problem has no key")
			}
			for _, want := range tt.what {
				if !strings.Contains(errs[0].What, want) {
					t.Errorf("message = %q, want %q in it", errs[0].What, want)
				}
			}
			if strings.Contains(problems.Error(), dir) {
				t.Errorf("message %q names the absolute directory", problems.Error())
			}
		})
	}
}

func TestSourceWarnsOfAStaticFileThatIsNotJSON(t *testing.T) {
	tests := []struct {
		name, content string
		form          renderer.Form
		raw           bool
		pos           string // of the warning; "" if there is none
	}{
		{"an object cut short", "{\n\"a\": 1", renderer.JSON, false, "f.json:2:"},
		{"a trailing comma", "{\n \"a\": 1,\n}", renderer.JSON, false, "f.json:3:1"},
		{"a raw file is checked too", "{\n \"a\": {{x}},\n}", renderer.JSON, true, "f.json:2:8"},
		{"valid JSON", `{"a": [1, 2]}`, renderer.JSON, false, ""},
		{"one value a line", "{}\n{}\n", renderer.JSON, false, ""},
		{"nothing at all", "", renderer.JSON, false, ""},
		{"a text that is not served as JSON", "hello", renderer.Plain, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "f.json"), tt.content)
			l := newTestLoader(t, Options{})
			s, problems := l.Source(jsonBody("f.json"), dir, tt.form, tt.raw, &renderer.Scope{})
			if s == nil {
				t.Fatalf("no source: %v", problems)
			}
			if tt.pos == "" {
				if len(problems) > 0 {
					t.Errorf("problems = %v, want none", problems)
				}
				return
			}
			if len(problems) != 1 || !problems[0].Warning || !strings.HasPrefix(problems[0].Pos.String(), tt.pos) {
				t.Fatalf("problems = %+v, want one warning at %s", problems, tt.pos)
			}
			if got := bodyOf(t, s, ""); got != tt.content {
				t.Errorf("body = %q, want it served all the same: %q", got, tt.content)
			}
		})
	}
}

// quiet returns a logger that discards the messages of a test server.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
