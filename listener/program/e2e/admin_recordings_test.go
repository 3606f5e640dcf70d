package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// The result of importing a recording can be downloaded while the recording runs: the
// configuration, or an archive with the configuration and the files next to it.
func TestRecordings_Config(t *testing.T) {
	t.Parallel()
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, strings.Repeat("x", 1000))
	}))
	defer real.Close()
	p, a := Administered(t, fmt.Sprintf("- upstream: {name: real, url: %q, record: {to: %q}}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", real.URL, t.TempDir()))
	a.Get("/__admin/recordings/1/config").Refusal(t, 409, "recording_failed")
	a.Get("/__admin/recordings/7/config").Refusal(t, 404, "recording_not_found")
	ask := func(path string, recorded int) {
		p.Get(path)
		var shown struct{ Recordings []struct{ Requests int } }
		harness.Until(t, "the request is in the file", func() bool {
			a.Get("/__admin/recordings").Into(t, 200, &shown)
			return shown.Recordings[0].Requests == recorded
		})
	}
	ask("/orders", 1)
	got := a.Get("/__admin/recordings/1/config")
	if got.Status != 200 || got.Header.Get("Content-Type") != "application/yaml" || !strings.Contains(got.Header.Get("Content-Disposition"), `"real.yml"`) ||
		!strings.Contains(got.Body, "path: /orders\n") {
		t.Errorf("%+v", got)
	}
	for i := range 99 {
		p.Get(fmt.Sprint("/users/", i))
	}
	ask("/users/100", 101)
	got = a.Get("/__admin/recordings/1/config")
	archive, err := zip.NewReader(bytes.NewReader([]byte(got.Body)), int64(len(got.Body)))
	if err != nil || got.Header.Get("Content-Type") != "application/zip" || len(archive.File) != 2 || archive.File[0].Name != "mocks.yml" || archive.File[1].UncompressedSize64 < 100_000 {
		t.Errorf("%v, %v: %.300q", err, got.Header, got.Body)
	}
}

// A check says of recordings what the change would say, and neither writes nor takes anything over.
func TestRecordings_ACheckTriesThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "file", "")
	recorded := func(to, more string) string {
		return fmt.Sprintf("- upstream: {name: real, url: \"http://a\", record: {to: %q%s}}\n- endpoint: {path: /a, response: {proxy: real}}\n", filepath.Join(dir, to), more)
	}
	Administered(t, recorded("held", ""))
	_, a := Administered(t, recorded("own", ""))
	all := func() (names string) {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			names += path + "\n"
			return nil
		})
		return names
	}
	before := all()
	for _, check := range []bool{true, false} {
		for _, tt := range []struct{ to, more, refused string }{
			{"held", "", "in use by another process"},
			{"file", "", "not a directory"},
			{"file/below", "", "not a directory"},
			{"own", "", ""},
			{"own", ", bodies: 1KiB", ""},
			{"new/one", "", ""},
		} {
			got := a.Do("PUT", fmt.Sprint("/__admin/spec?check=", check), recorded(tt.to, tt.more), "Content-Type: application/yaml")
			if tt.refused == "" {
				got.Into(t, 200, &struct{}{})
			} else if got.Refusal(t, 422, "invalid_configuration"); !strings.Contains(got.Body, "upstream.record: cannot record to ") || !strings.Contains(got.Body, tt.refused) {
				t.Errorf("check %v, %s: %s, want %s", check, tt.to, got.Body, tt.refused)
			}
		}
		if now := all(); check && now != before {
			t.Errorf("after the check there are\n%s, before\n%s", now, before)
		}
	}
	var shown struct{ Recordings []struct{ ID string } }
	if a.Get("/__admin/recordings").Into(t, 200, &shown); len(shown.Recordings) != 4 || shown.Recordings[0].ID != "7" {
		t.Errorf("the recordings are %+v, want that of the start, and those of three of six changes", shown)
	}
}
