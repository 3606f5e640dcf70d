package imports_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mockserver/config/imports/draft"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		text string
		want draft.Shape
	}{
		{"", draft.Shape{Keys: map[string]json.Delim{}}},
		{"- endpoint:", draft.Shape{Keys: map[string]json.Delim{}}},
		{" {}", draft.Shape{Kind: '{', Keys: map[string]json.Delim{}, Whole: true}},
		{`{"a": {"b": ["}", 1]}, "c\"d": "x,y", "e": 1, "f": null}`, draft.Shape{Kind: '{', Keys: map[string]json.Delim{"a": '{', `c"d`: 0, "e": 0, "f": 0}, Whole: true}},
		{`[{"a": [], "b": true}, {"c": 1}]`, draft.Shape{Kind: '[', Keys: map[string]json.Delim{"a": '[', "b": 0}, Whole: false}},
		{`{"a": 1, "b": {"c`, draft.Shape{Kind: '{', Keys: map[string]json.Delim{"a": 0, "b": '{'}, Whole: false}},
		{`{"a": 1, "b`, draft.Shape{Kind: '{', Keys: map[string]json.Delim{"a": 0}, Whole: false}},
		{"\uFEFF{\"a\": 1}", draft.Shape{Kind: '{', Keys: map[string]json.Delim{"a": 0}, Whole: true}},
	} {
		got := source(t, "x.json", c.text).Shape()
		if got.Kind != c.want.Kind || got.Whole != c.want.Whole || !maps.Equal(got.Keys, c.want.Keys) {
			t.Errorf("%s: got %+v, want %+v", c.text, got, c.want)
		}
	}
}

func TestSourcesArePackedOrNot(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, packed func(io.Writer) io.WriteCloser) *draft.Source {
		f, err := os.Create(filepath.Join(dir, name))
		must(err)
		w := packed(f)
		_, err = io.WriteString(w, `{"log": {}}`)
		must(err)
		must(w.Close())
		must(f.Close())
		s, err := draft.OpenSource(f.Name())
		must(err)
		return s
	}
	for _, s := range []*draft.Source{
		write("a.har", func(w io.Writer) io.WriteCloser { return nopCloser{w} }),
		write("a.har.gz", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		write("a.har.zst", func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			must(err)
			return z
		}),
	} {
		data, err := s.Data()
		if err != nil || string(data) != `{"log": {}}` || !s.Shape().Has("log") {
			t.Errorf("%s: %q, %v, %+v", s.Name, data, err, s.Shape())
		}
	}
	must(os.WriteFile(filepath.Join(dir, "bad.gz"), []byte("no gzip"), 0o600))
	if _, err := draft.OpenSource(filepath.Join(dir, "bad.gz")); err == nil {
		t.Error("a broken .gz has no error")
	}
	if _, err := draft.OpenSource(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, why := draft.Body("../x", dir); why == "" {
		t.Error("a name that leads out of the directory has no error")
	}
}

// nopCloser leaves a file open, as closing a compressor does.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
