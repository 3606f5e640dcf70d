package admin_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	p, a := harness.Administered(t, fmt.Sprintf("- upstream: {name: real, url: %q, record: {to: %q}}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", real.URL, t.TempDir()))
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
