//go:build !race

package fetcher

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

func TestAllocations(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data", "f.json"), `{"a": "{{query-params.f}}"}`)
	f := newBook(t)
	setRows(t, f, "S", []any{"a"}, []any{1})
	write(t, filepath.Join(dir, "b.xlsx"), string(bookBytes(t, f)))
	server := remote(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("x")) })
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	kept, keptByPath := jsonBody(server.URL), jsonBody(server.URL+"/{{query-params.f}}")
	kept.TTL, keptByPath.TTL = time.Hour, time.Hour
	for _, tt := range []struct {
		name string
		s    *Source
		want float64
	}{
		{"a fixed file", mustSource(t, l, jsonBody("data/f.json"), dir), 0},
		{"a rendered path", mustSource(t, l, jsonBody("data/{{query-params.f}}.json"), dir), 0},
		{"a sheet", mustSource(t, l, sheetBody("b.xlsx", "S"), dir), 0},
		{"a URL that is kept", mustSource(t, l, kept, dir), 0},
		{"a rendered URL that is kept", mustSource(t, l, keptByPath, dir), 0},
	} {
		r := request(t, "f=f")
		got := testing.AllocsPerRun(1000, func() {
			if _, err := tt.s.Body(r); err != nil {
				t.Fatal(err)
			}
		})
		if got > tt.want {
			t.Errorf("%s: %v allocations, want %v", tt.name, got, tt.want)
		}
	}
}
