package fetcher

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func BenchmarkBody(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "data", "f.json"), `{"a": "{{query-params.f}}"}`)
	server := remote(b, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("x")) })
	l := newTestLoader(b, Options{})
	kept := jsonBody(server.URL)
	kept.TTL = time.Hour
	for _, bb := range []struct {
		name string
		s    *Source
	}{
		{"fixed file", mustSource(b, l, jsonBody("data/f.json"), dir)},
		{"rendered path", mustSource(b, l, jsonBody("data/{{query-params.f}}.json"), dir)},
		{"kept URL", mustSource(b, l, kept, dir)},
		{"fetched URL", mustSource(b, l, jsonBody(server.URL), dir)},
	} {
		r := request(b, "f=f")
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.s.Body(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadSheet(b *testing.B) {
	f := newBook(b)
	w, err := f.NewStreamWriter("S")
	check(b, err)
	check(b, w.SetRow("A1", []any{"id", "name", "price", "sold"}))
	for i := range 10_000 {
		check(b, w.SetRow("A"+strconv.Itoa(i+2), []any{i, "some name", 1.5, true}))
	}
	check(b, w.Flush())
	book := bookBytes(b, f)
	b.SetBytes(int64(len(book)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readSheet(b.Context(), book, "S", wide); err != nil {
			b.Fatal(err)
		}
	}
}
