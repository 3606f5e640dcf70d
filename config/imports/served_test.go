package imports_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// Reader is the reader of a format.
type Reader func(*draft.Source, *draft.Draft, draft.Options) error

// Made is the result of importing a source.
type Made struct {
	*draft.Draft
	Text string
	spec *config.Spec
}

// importRead reads a source in memory. The configuration made from it must be valid, warnings aside.
func importRead(t testing.TB, read Reader, name, text string, opts draft.Options) *Made {
	t.Helper()
	m, err := importTry(t, read, source(t, name, text), opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// source returns a source with the given text, in a directory of its own.
func source(t testing.TB, name, text string) *draft.Source {
	t.Helper()
	s, err := draft.OpenSource(file(t, name, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused reads sources that are refused, and compares the errors, which name the sources without
// their directories.
func refused(t *testing.T, read Reader, name string, wants map[string]string) {
	t.Helper()
	for text, want := range wants {
		s := source(t, name, text)
		var problems syntax.Problems
		err := read(s, &draft.Draft{}, draft.Options{})
		if !errors.As(err, &problems) || strings.ReplaceAll(err.Error(), s.Name, name) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// fuzzed reads any text, which may be refused.
func fuzzed(t *testing.T, read Reader, name, text string) {
	t.Helper()
	if s, err := draft.OpenSource(file(t, name, text)); err == nil {
		_, _ = importTry(t, read, s, draft.Options{})
	}
}

// importTry is importRead for a source that may be refused.
func importTry(t testing.TB, read Reader, s *draft.Source, opts draft.Options) (*Made, error) {
	t.Helper()
	m := &Made{Draft: &draft.Draft{}}
	if err := read(s, m.Draft, opts); err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	m.Text = b.String()
	for i := range m.Items {
		m.Items[i].Pos.File = filepath.Base(m.Items[i].Pos.File)
	}
	dir := t.TempDir()
	for _, f := range m.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var content strings.Builder
		if err := f.Content(&content); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "made.yml")
	if err := os.WriteFile(path, []byte(m.Text), 0o644); err != nil {
		t.Fatal(err)
	}
	m.spec = config.Load(path)
	if err := listener.Check(m.spec, listener.Options{}).Err(); err != nil {
		t.Fatalf("%v in:\n%s", err, m.Text)
	}
	return m, nil
}

// Serve serves the result until the test ends, and returns its URL.
func (m *Made) Serve(t testing.TB) string {
	return listenertest.Start(t, m.spec, listener.Options{}).URL()
}

// Counts returns how many items are exact, approximate and lost.
func (m *Made) Counts() [3]int {
	return [3]int{m.Count(draft.Exact), m.Count(draft.Approximate), m.Count(draft.Lost)}
}

// Case is a request and the answer that is expected.
type Case struct {
	Method, Target, Body string
	Header               map[string]string
	Status               int
	Want                 string // the body; if it ends with "…", only its beginning
	Has                  map[string]string
}

// Ask sends requests in their order and compares the answers.
func Ask(t *testing.T, url string, cases []Case) {
	t.Helper()
	for _, c := range cases {
		status, header, body := Send(t, url, c)
		begins, open := strings.CutSuffix(c.Want, "…")
		if status != c.Status || body != c.Want && !(open && strings.HasPrefix(body, begins)) {
			t.Errorf("%s %s %s %v: %d %q, want %d %q", c.Method, c.Target, c.Body, c.Header, status, body, c.Status, c.Want)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Has)) {
			if got := strings.Join(header.Values(name), ", "); got != c.Has[name] {
				t.Errorf("%s %s: %s: %q, want %q", c.Method, c.Target, name, got, c.Has[name])
			}
		}
	}
}

var client = http.Client{Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Send sends a request and returns the answer; if there is none, status 0 and the text of the
// error.
func Send(t testing.TB, url string, c Case) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(c.Method, url+c.Target, strings.NewReader(c.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Header {
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, resp.Header, string(body) + err.Error()
	}
	return resp.StatusCode, resp.Header, string(body)
}
