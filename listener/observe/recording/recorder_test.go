package recording

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"mockserver/config/item"
	"mockserver/fetcher/upstream"
	"mockserver/internal/events"
	"mockserver/internal/files"
	"mockserver/internal/harness/volume"
	form "mockserver/internal/recording"
	"mockserver/matcher"
)

func opened(t *testing.T, dir string, declared item.Record, log *bytes.Buffer, write ...func(*os.File, []byte) (int, error)) *Recorder {
	t.Helper()
	o := Options{ID: "1", Upstream: "real", URL: "http://a", Dir: dir, Declared: declared, Log: slog.New(slog.NewTextHandler(log, nil))}
	if len(write) > 0 {
		o.write = write[0]
	}
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// record records one exchange.
func record(r *Recorder, path, body string) {
	q := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte(path), Host: []byte("h"), Header: matcher.Header("A: b\r\nConnection: close\r\n\r\n")})
	defer matcher.Release(q)
	e := r.Begin(q, 1)
	if e == nil {
		return
	}
	e.Response(200, []upstream.Field{{Name: []byte("C"), Value: []byte("d")}})
	e.More([]byte(body), 0)
	e.wait, e.first, e.last, e.underWay = 1000, 2000, 3000, 1
	r.End(e)
}

func linesIn(t *testing.T, path string) (n int, broken error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, broken, err = form.Read(f, func(*form.Line) error {
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, broken
}

// settled waits until the recorder has written or dropped n exchanges.
func settled(r *Recorder, n uint64) Stats {
	for {
		if s := r.Stats(); s.Requests+s.Dropped >= n {
			return s
		}
	}
}

func TestRecorder_OneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, item.Record{}, new(bytes.Buffer))
	_, err := Open(Options{Upstream: "real", Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, files.ErrLocked) {
		t.Errorf("got %v", err)
	}
	_, err = Open(Options{Upstream: "real", Dir: "/dev/null/x", Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Error("an impossible directory was accepted")
	}
}

// When the disk is full for a while, even from the middle of a write on, exactly the exchanges that
// are reported as lost are missing.
func TestRecorder_FullDisk(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), new(bytes.Buffer)
	full := make(chan bool, 1)
	r := opened(t, dir, item.Record{}, log, func(f *os.File, b []byte) (int, error) {
		select {
		case <-full:
			n, _ := f.Write(b[:len(b)/2])
			return n, syscall.ENOSPC
		default:
			return f.Write(b)
		}
	})
	record(r, "/before", "x")
	settled(r, 1)
	full <- true
	for i := range 10 {
		record(r, fmt.Sprint("/lost", i), "x")
	}
	s := settled(r, 11)
	if s.Dropped == 0 || !strings.Contains(s.Failure, "no space left") {
		t.Errorf("%+v", s)
	}
	record(r, "/after", "x")
	s = settled(r, 12)
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	n, broken := linesIn(t, s.Paths[0])
	if broken != nil || uint64(n) != s.Requests || s.Requests+s.Dropped != 12 {
		t.Errorf("%d lines, %v; %+v", n, broken, s)
	}
	if !strings.Contains(log.String(), "data that could not be written is dropped") {
		t.Error(log)
	}
}

// A process that is killed leaves a file whose last frame may be cut off at any byte.
func TestRecorder_CutFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := opened(t, dir, item.Record{}, new(bytes.Buffer))
	for i := range 3 {
		record(r, fmt.Sprint("/", i), strings.Repeat("body", 100))
		settled(r, uint64(i+1))
	}
	path := r.Stats().Paths[0]
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.zst")
	step := 5
	if volume.Full() {
		step = 1
	}
	for size := 0; size < len(all); size += step {
		if err := os.WriteFile(cut, all[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if n, _ := linesIn(t, cut); n > 3 || size > len(all)*9/10 && n < 2 {
			t.Fatalf("%d lines of %d bytes", n, size)
		}
	}
	again := opened(t, dir, item.Record{}, new(bytes.Buffer)) // continues in another file
	if got := filepath.Base(again.Stats().Paths[0]); got != "real-0002.ndjson.zst" {
		t.Error(got)
	}
}

// Requests do not wait when the queue is full.
func TestRecorder_FullQueue(t *testing.T) {
	log := new(bytes.Buffer)
	hold, held := make(chan struct{}), make(chan struct{}, 100)
	var armed atomic.Bool
	r := opened(t, t.TempDir(), item.Record{}, log, func(f *os.File, b []byte) (int, error) {
		if armed.Load() {
			held <- struct{}{}
			<-hold
		}
		return f.Write(b)
	})
	armed.Store(true)
	record(r, "/first", "")
	<-held
	for i := range queued + 100 {
		record(r, fmt.Sprint("/", i), "")
	}
	if s := r.Stats(); s.Dropped != 100 {
		t.Errorf("%d dropped", s.Dropped)
	}
	close(hold)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if s := r.Stats(); s.Requests != queued+1 || s.Dropped != 100 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(log.String(), "exchanges are dropped") {
		t.Error(log)
	}
}

func TestRecorder_Limit(t *testing.T) {
	t.Parallel()
	r := opened(t, t.TempDir(), item.Record{Limit: 1, Bodies: 3}, new(bytes.Buffer))
	record(r, "/a", "abcd")
	settled(r, 1)
	record(r, "/b", "ab")
	s := settled(r, 2)
	_ = r.Close()
	var got []form.Message
	f, err := os.Open(s.Paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _, _ = form.Read(f, func(l *form.Line) error {
		got = append(got, l.Response)
		return nil
	})
	const sum = "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589" // the hash of abcd, from sha256sum
	if len(got) != 2 || got[0].Omitted != "size" || got[0].SHA256 != sum || got[0].Size != 4 || got[1].Omitted != "limit" || got[1].Size != 2 || s.Bodiless != 1 {
		t.Errorf("%+v %+v", got, s)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[{"c":1},{"c":"x"}]},"c":null}`), "application/json", "http://h/a?k=v&k=w")
	f.Add([]byte("k=v&z"), "application/x-www-form-urlencoded", "x")
	f.Add([]byte("data: {\"c\":\ndata: 1}\r\n\r\n: ping\n\ndata: [DONE]\n\n"), "text/event-stream", "x")
	f.Add([]byte("{\"c\":1}\n[]\r\n{"), "application/jsonl", "x")
	r := &Recorder{key: []byte("k"), opts: Options{Declared: item.Record{Bodies: 1 << 20, Redact: &item.Redact{JSON: []string{"c", "a.b.c"}, Query: []string{"k"}}}}}
	f.Fuzz(func(t *testing.T, body []byte, contentType, url string) {
		l := form.Line{URL: url, Request: form.Message{Headers: [][2]string{{"Content-Type", contentType}, {"Cookie", url}, {"Set-Cookie", url}, {"Authorization", url}}}}
		l.Request.SetContent(body)
		l.Response = l.Request
		l.Response.Headers = slices.Clone(l.Request.Headers)
		split := events.Splitter{Framing: events.FramingOf([]byte(contentType))}
		for end := 0; ; {
			size := split.Next(body[end:])
			if size == 0 {
				break
			}
			end += size
			l.Pieces = append(l.Pieces, form.Piece{int64(end), 1})
		}
		r.redact(&l, split.Framing)
		for i, p := range l.Pieces {
			if l.Response.Omitted == "" && (p[0] > int64(len(l.Response.Content())) || i > 0 && p[0] < l.Pieces[i-1][0]) {
				t.Errorf("the pieces end at %v in %d bytes", l.Pieces, len(l.Response.Content()))
			}
		}
		text := l.Append(nil)
		n := 0
		_, broken, err := form.Read(bytes.NewReader(append([]byte("{\"mockserver\":\"recording\",\"version\":1}\n"), text...)), func(*form.Line) error {
			n++
			return nil
		})
		if broken != nil || err != nil || n != 1 {
			t.Errorf("%q: %v %v", text, broken, err)
		}
	})
}
