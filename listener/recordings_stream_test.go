package listener_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/internal/harness"
	form "mockserver/internal/recording"
	"mockserver/listener"
)

// A recorded stream is served as it was recorded: with the same pieces, none of which comes earlier. Without latencies
// it is served at once.
func TestRecording_StreamsAreServedAtTheirTimes(t *testing.T) {
	const step = 20 * time.Millisecond
	dir := t.TempDir()
	body := piecesOf("text/event-stream", 5)
	l := form.Line{Method: "GET", URL: "http://a/events", Status: 200, Response: form.Message{Headers: [][2]string{{"Content-Type", "text/event-stream"}}, Body: body}}
	for i := range 5 {
		l.Pieces = append(l.Pieces, form.Piece{int64(len(body) / 5 * (i + 1)), (time.Duration(i+1) * step).Microseconds()})
	}
	text := l.Append([]byte("{\"mockserver\":\"recording\",\"version\":1}\n"))
	if err := os.WriteFile(filepath.Join(dir, "real-0001.ndjson.zst"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for rules, atOnce := range map[string]bool{"": false, "capacity: {concurrent: 9}, ": false, "capacity: {concurrent: 8}, ": true} {
		spec := config.Parse("a.yml", fmt.Appendf(nil, `
- upstream: {name: real, url: "http://127.0.0.1:1", record: {to: %q, mode: missing}}
- endpoint: {method: any, path: "/*rest", %sresponse: {proxy: real}}
`, dir, rules))
		server := started(t, spec, listener.Options{NoLatency: atOnce})
		for name, client := range map[string]*http.Client{"http/1.1": http.DefaultClient, "h2": overHTTP2(t)} {
			begun := time.Now()
			resp, err := client.Get(server.URL() + "/events")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(got) != body || err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s: %v %q, %v", name, resp.Header, got, err)
			}
			if took := time.Since(begun); !atOnce && took < 5*step {
				t.Errorf("%s: the stream took %v, less than %v", name, took, 5*step)
			}
		}
		if err := server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The recording of a streamed answer says where each of its pieces ends and when it arrived: events, comments, lines,
// or what arrived together. Of a stream that is too large it keeps the times, and of one whose client leaves what has
// arrived until then.
func TestRecording_Streams(t *testing.T) {
	dir := t.TempDir()
	left := make(chan struct{})
	server := proxied(t, `, record: {to: "`+dir+`", bodies: 200}`, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/"))
		if r.URL.Path == "/text/event-stream" && r.URL.RawQuery == "large" {
			_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 200)+"\n\ndata: b\n\n")
			return
		}
		for _, part := range []string{"data: a\n\nda", "ta: b\n\n", ": ping\n\n", "data: c\n\n"} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.RawQuery == "endless" {
			<-left
		}
	})
	for _, path := range []string{"/text/event-stream", "/application/jsonl", "/text/event-stream?large"} {
		ask(t, "GET", server.URL()+path, "")
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL()+"/text/event-stream?endless", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 35)); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	harness.Until(t, "the exchange is recorded", func() bool { return server.Control().Recordings().List()[0].Requests == 4 })
	close(left)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	lines := recordedIn(t, dir)
	if len(lines) != 4 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range [][]int64{{9, 18, 26, 35}, {8, 9, 17, 18, 25, 26, 34, 35}, {208, 217}, {9, 18, 26, 35}} {
		l := lines[i]
		before := form.Piece{0, l.First}
		for k, p := range l.Pieces {
			if k >= len(want) || p[0] != want[k] || p[1] < before[1] || p[1] > l.Last {
				t.Errorf("%s: piece %d is %v, after %v; want ends at %v", l.URL, k, p, before, want)
			}
			before = p
		}
		if len(l.Pieces) != len(want) || l.Status != 200 || (l.Error == form.Left) != (i == 3) || (l.Response.Omitted != "") != (i == 2) {
			t.Errorf("%s: %+v", l.URL, l)
		}
	}
}
