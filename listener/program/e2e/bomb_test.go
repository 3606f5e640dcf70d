package e2e_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

// Remote bodies that are too large once they are unpacked, or that never end, take hardly more
// memory than the limit of 64 MiB, however many there are.
func TestExternalBody_BombsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // its memory is measured
	part := make([]byte, 1<<20)
	bomb := func(w io.WriteCloser, err error) {
		for range 80 {
			if _, failed := w.Write(part); failed != nil || err != nil {
				t.Fatal(failed, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var gz, deflated, zst bytes.Buffer
	writer, err := gzip.NewWriterLevel(&gz, gzip.BestSpeed)
	bomb(writer, err)
	deflater, err := zlib.NewWriterLevel(&deflated, zlib.BestSpeed)
	bomb(deflater, err)
	encoder, err := zstd.NewWriter(&zst)
	bomb(encoder, err)
	bombs := map[string][]byte{
		"gzip": gz.Bytes(), "deflate": deflated.Bytes(), "zstd": zst.Bytes(),
		"br":         fasthttp.AppendBrotliBytesLevel(nil, make([]byte, 80<<20), fasthttp.CompressBrotliBestSpeed),
		"gzip, gzip": fasthttp.AppendGzipBytes(nil, gz.Bytes()),
	}
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		coding := r.URL.Query().Get("coding")
		w.Header().Set("Content-Encoding", coding)
		_, err := w.Write(bombs[coding])
		for coding == "" && err == nil { // until the server has read enough
			_, err = w.Write(part)
		}
	}))
	defer remote.Close()
	p := Serving(t, `- endpoint: {path: /, response: {external-body: {provider: json, path: "`+remote.URL+`/?n={{query-params.n}}&coding={{query-params.coding}}"}}}`)
	for _, coding := range []string{"gzip", "deflate", "zstd", "br", "gzip,%20gzip", ""} {
		var all sync.WaitGroup
		for n := range 3 { // several at once, except for those that must be stored to be counted
			all.Go(func() {
				a := p.Get(fmt.Sprintf("/?coding=%s&n=%d", coding, n))
				if a.Status != 502 || !strings.Contains(a.Body, "too large: more than 64 MiB") {
					t.Errorf("%q: got %d %s", coding, a.Status, a.Body)
				}
			})
			if coding == "" {
				all.Wait()
			}
		}
		all.Wait()
		holdsAtMost(p, 200<<20)
	}
}
