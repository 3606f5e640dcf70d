package dispatcher

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func openedStore(t testing.TB, dir string) (*outbox, []stored, string) {
	t.Helper()
	var log bytes.Buffer
	o, pending, err := openOutbox(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return o, pending, log.String()
}

func storedAs(text string, due int64) stored {
	return stored{due: time.Unix(due, 0), depth: 2, webhook: appendWebhook(nil, &Webhook{Name: text}), parts: []byte(text)}
}

func put(t testing.TB, o *outbox, text string, due int64) uint64 {
	t.Helper()
	s := storedAs(text, due)
	if err := o.store(&s); err != nil {
		t.Fatal(err)
	}
	return s.id
}

func texts(pending []stored) []string {
	var out []string
	for _, s := range pending {
		out = append(out, string(s.parts))
	}
	return out
}

func TestOutbox_GivesBackWhatIsPending(t *testing.T) {
	dir := t.TempDir()
	o, pending, _ := openedStore(t, dir)
	if len(pending) != 0 {
		t.Fatalf("a new store holds %v", pending)
	}
	put(t, o, "late", 30)
	put(t, o, "early", 10)
	gone := put(t, o, "gone", 20)
	o.done(gone)
	o.done(gone) // again does nothing
	o.done(12345)
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o, pending, log := openedStore(t, dir)
	if got := texts(pending); !slices.Equal(got, []string{"early", "late"}) {
		t.Errorf("pending %v, want early and late", got)
	}
	if want := time.Unix(10, 0); !pending[0].due.Equal(want) || pending[0].depth != 2 {
		t.Errorf("due %v depth %d, want %v and 2", pending[0].due, pending[0].depth, want)
	}
	w, err := readWebhook(pending[0].webhook)
	if err != nil || w.Name != "early" {
		t.Errorf("webhook %v, %v", w, err)
	}
	if id := put(t, o, "new", 5); id == pending[0].id || id == pending[1].id {
		t.Errorf("the number %d is given twice", id)
	}
	if err := o.close(); err != nil || log != "" {
		t.Errorf("closing: %v; log: %s", err, log)
	}
	if s := storedAs("x", 1); o.store(&s) == nil {
		t.Error("a closed store takes a delivery")
	}
}

func TestOutbox_IsOneProcesss(t *testing.T) {
	dir := t.TempDir()
	o, _, _ := openedStore(t, dir)
	if _, _, err := openOutbox(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, errStoreLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o, _, _ = openedStore(t, dir)
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

// logOf writes a store with the given texts and returns its only file.
func logOf(t *testing.T, dir string, names ...string) string {
	t.Helper()
	o, _, _ := openedStore(t, dir)
	for i, name := range names {
		put(t, o, name, int64(i))
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	return files[0]
}

// A crash leaves any beginning of what was written: whole records are found, and a
// torn one is no damage.
func TestOutbox_CutAnywhere(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile(logOf(t, dir, "a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{}
	for rest := whole; ; {
		_, after, ok := cutRecord(rest)
		if !ok {
			break
		}
		rest = after
		ends = append(ends, len(whole)-len(rest))
	}
	for cut := range len(whole) + 1 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "00000001.log"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		o, pending, log := openedStore(t, dir)
		want := 0
		for _, end := range ends {
			if end <= cut {
				want++
			}
		}
		if len(pending) != want {
			t.Errorf("cut at %d: %d pending, want %d", cut, len(pending), want)
		}
		if strings.Contains(log, "damaged") {
			t.Errorf("cut at %d is called damage: %s", cut, log)
		}
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
		o, again, log := openedStore(t, dir)
		if len(again) != want || log != "" {
			t.Errorf("cut at %d, opened again: %d pending, want %d; log %s", cut, len(again), want, log)
		}
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A flipped bit anywhere loses at most what is behind it, says so, and throws
// nothing away.
func TestOutbox_DamageIsSetAside(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile(logOf(t, dir, "a", "b", "c", "d"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := cutRecord(whole)
	_, rest, _ = cutRecord(rest)
	third := len(whole) - len(rest)
	for at := 0; at < third; at++ {
		dir := t.TempDir()
		broken := bytes.Clone(whole)
		broken[at] ^= 0x10
		if err := os.WriteFile(filepath.Join(dir, "00000001.log"), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		o, pending, log := openedStore(t, dir)
		if !strings.Contains(log, "damaged") || !strings.Contains(log, "set aside") {
			t.Errorf("flip at %d: not said: %s", at, log)
		}
		kept, err := os.ReadFile(filepath.Join(dir, "00000001.log.damaged"))
		if err != nil || !bytes.Equal(kept, broken) {
			t.Errorf("flip at %d: the damaged file is not kept: %v", at, err)
		}
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
		again := texts(pending)
		o, pending, log = openedStore(t, dir)
		if !slices.Equal(texts(pending), again) || log != "" {
			t.Errorf("flip at %d: opened again %v, before %v; log %s", at, texts(pending), again, log)
		}
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that fails stops the store: what it does not say is stored, it does not hold.
func TestOutbox_FailingDisk(t *testing.T) {
	o, _, _ := openedStore(t, t.TempDir())
	put(t, o, "good", 1)
	o.mu.Lock()
	o.sync = func(*os.File) error { return errors.New("disk on fire") }
	o.mu.Unlock()
	s := storedAs("bad", 1)
	for range 2 {
		if err := o.store(&s); err == nil || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("stored on a failing disk: %v", err)
		}
	}
	if err := o.close(); err == nil {
		t.Error("closing says nothing of it")
	}
}

// Files of the log go when nothing in them is pending, and the log stays bounded
// while one old delivery is pending for ever.
func TestOutbox_GivesRoomBack(t *testing.T) {
	dir := t.TempDir()
	o, _, _ := openedStore(t, dir)
	o.mu.Lock() // before anything is written
	o.rotateAt, o.allowed = 64<<10, 256<<10
	o.mu.Unlock()
	put(t, o, "old", 1)
	filler := strings.Repeat("x", 1<<10)
	for i := range 2000 {
		o.done(put(t, o, fmt.Sprint(i, filler), 2))
	}
	var total int64
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil { // it may go meanwhile
			total += info.Size()
		}
	}
	if total > 1<<20 {
		t.Errorf("the log takes %d bytes for one delivery", total)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o, pending, log := openedStore(t, dir)
	if got := texts(pending); !slices.Equal(got, []string{"old"}) || log != "" {
		t.Errorf("pending %v, want old; log %s", got, log)
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

func TestOutbox_ManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	o, _, _ := openedStore(t, dir)
	var wg sync.WaitGroup
	var mu sync.Mutex
	left := map[string]bool{}
	for g := range 50 {
		wg.Go(func() {
			for i := range 40 {
				text := fmt.Sprintf("%d-%d", g, i)
				id := put(t, o, text, int64(i))
				if i%3 == 0 {
					o.done(id)
					continue
				}
				mu.Lock()
				left[text] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
	o, pending, _ := openedStore(t, dir)
	got := texts(pending)
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(left)); !slices.Equal(got, want) {
		t.Errorf("%d pending, want %d", len(got), len(want))
	}
	if err := o.close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzRecord(f *testing.F) {
	s := storedAs("text", 7)
	f.Add(appendDone(appendStored(nil, &s), 9))
	f.Fuzz(func(t *testing.T, log []byte) {
		for {
			body, rest, ok := cutRecord(log)
			if !ok {
				return
			}
			kind, s, err := readRecord(body)
			if err == nil && kind == accepted {
				again := appendStored(nil, &s)
				body, _, ok := cutRecord(again)
				if !ok {
					t.Fatal("a record written anew cannot be read")
				}
				if _, s2, err := readRecord(body); err != nil || s2.id != s.id || !bytes.Equal(s2.parts, s.parts) || !s2.due.Equal(s.due) {
					t.Fatalf("a record written anew holds something else: %v", err)
				}
				_, _ = readWebhook(s.webhook)
			}
			log = rest
		}
	})
}

func BenchmarkOutbox_Store(b *testing.B) {
	o, _, _ := openedStore(b, b.TempDir())
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		s := storedAs(strings.Repeat("x", 300), 1)
		for pb.Next() {
			if err := o.store(&s); err != nil {
				b.Error(err)
			}
			o.done(s.id)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "stored/s")
	if err := o.close(); err != nil {
		b.Fatal(err)
	}
}
