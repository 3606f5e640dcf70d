package outbox

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
	"sync/atomic"
	"testing"
	"time"
)

func openedStore(t testing.TB, dir string) (*Outbox, []Entry, string) {
	t.Helper()
	var log bytes.Buffer
	o, pending, err := Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return o, pending, log.String()
}

func storedAs(text string, due int64) Entry {
	return Entry{Due: time.Unix(due, 0), Depth: 2, Webhook: []byte("webhook of " + text), Parts: []byte(text)}
}

func put(t testing.TB, o *Outbox, text string, due int64) uint64 {
	t.Helper()
	s := storedAs(text, due)
	if err := o.Store(&s); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

func texts(pending []Entry) []string {
	var out []string
	for _, s := range pending {
		out = append(out, string(s.Parts))
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
	o.Done(gone)
	o.Done(gone) // a second call has no effect
	o.Done(12345)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o, pending, log := openedStore(t, dir)
	if got := texts(pending); !slices.Equal(got, []string{"early", "late"}) {
		t.Errorf("pending %v, want early and late", got)
	}
	if want := time.Unix(10, 0); !pending[0].Due.Equal(want) || pending[0].Depth != 2 {
		t.Errorf("due %v depth %d, want %v and 2", pending[0].Due, pending[0].Depth, want)
	}
	if w := string(pending[0].Webhook); w != "webhook of early" {
		t.Errorf("webhook %q", w)
	}
	if id := put(t, o, "new", 5); id == pending[0].ID || id == pending[1].ID {
		t.Errorf("the number %d is given twice", id)
	}
	if err := o.Close(); err != nil || log != "" {
		t.Errorf("closing: %v; log: %s", err, log)
	}
	if s := storedAs("x", 1); o.Store(&s) == nil {
		t.Error("a closed store accepts a delivery")
	}
}

func TestOutbox_IsOneProcesss(t *testing.T) {
	dir := t.TempDir()
	o, _, _ := openedStore(t, dir)
	if _, _, err := Open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o, _, _ = openedStore(t, dir)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// The committer does not wait for files to be removed, however many there are.
func TestOutbox_DropsWithoutWaiting(t *testing.T) {
	o := &Outbox{dir: t.TempDir(), unlisted: make(chan struct{}, 1), removed: make(chan struct{})}
	for n := range uint32(100) {
		f := newLogFile(n)
		o.files = append(o.files, f)
		if err := os.WriteFile(o.path(f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.drop() // the remover is not running yet
	o.files = append(o.files, &logFile{number: 100})
	o.drop()
	close(o.unlisted)
	go o.remove()
	<-o.removed
	if left, err := os.ReadDir(o.dir); err != nil || len(left) != 0 || o.err != nil {
		t.Errorf("%d of 100 files are left, %v, %v", len(left), err, o.err)
	}
}

// While a file is rewritten, Store waits for at most pieceSize bytes of it.
func TestOutbox_StoresWhileItRewrites(t *testing.T) {
	const kept = 2000 // of 2 KiB each
	o, _, _ := openedStore(t, t.TempDir())
	var begun, between atomic.Bool
	o.mu.Lock()                       // before anything is written
	o.rotateAt, o.allowed = 16<<20, 0 // the first entries fit into one file
	o.sync = func(f *os.File) error { // a caller of Store waits for this
		o.mu.Lock()
		first := o.files[0]
		if begun.Load() && first.number == 1 && first.pending > 0 && first.pending < kept {
			between.Store(true)
		}
		o.mu.Unlock()
		return f.Sync()
	}
	o.mu.Unlock()
	filler := strings.Repeat("x", 1<<10)
	var storing sync.WaitGroup
	for range 8 {
		storing.Go(func() {
			for range kept / 8 {
				put(t, o, filler, 1)
				for range 2 {
					o.Done(put(t, o, filler, 1)) // so that the pending entries are spread over the file
				}
			}
		})
	}
	storing.Wait()
	begun.Store(true)
	for range 8 {
		storing.Go(func() {
			for i := 0; i < 10_000 && !between.Load(); i++ {
				o.Done(put(t, o, filler, 1))
			}
		})
	}
	storing.Wait()
	if !between.Load() {
		t.Error("nothing was stored while a file was rewritten")
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o, pending, said := openedStore(t, o.dir)
	if len(pending) != kept || said != "" {
		t.Errorf("%d pending, want %d; log %s", len(pending), kept, said)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// A record that is larger than pieceSize is rewritten like other records.
func TestOutbox_RewritesLargeRecords(t *testing.T) {
	o, _, _ := openedStore(t, t.TempDir())
	o.mu.Lock() // before anything is written
	o.rotateAt, o.allowed = pieceSize, 0
	o.mu.Unlock()
	old := strings.Repeat("o", 3*pieceSize)
	put(t, o, old, 1)
	rewritten := func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.files[0].number > 1
	}
	filler := strings.Repeat("x", pieceSize)
	for i := 0; i < 100 && !rewritten(); i++ {
		o.Done(put(t, o, filler, 2))
	}
	if err := o.Close(); err != nil || !rewritten() {
		t.Fatalf("the first file is still there; %v", err)
	}
	o, pending, said := openedStore(t, o.dir)
	if got := texts(pending); !slices.Equal(got, []string{old}) || said != "" {
		t.Errorf("%d pending, want the old one; log %s", len(got), said)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// A disk failure stops the store: every call to Store returns the error, and so does Close.
func TestOutbox_FailingDisk(t *testing.T) {
	o, _, _ := openedStore(t, t.TempDir())
	put(t, o, "good", 1)
	o.mu.Lock()
	o.sync = func(*os.File) error { return errors.New("disk on fire") }
	o.mu.Unlock()
	s := storedAs("bad", 1)
	for range 2 {
		if err := o.Store(&s); err == nil || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("stored on a failing disk: %v", err)
		}
	}
	if err := o.Close(); err == nil {
		t.Error("Close does not report it")
	}
}

// Files of the log are removed when none of their entries are pending, and the size of the log is
// bounded even if one old delivery is pending forever.
func TestOutbox_GivesRoomBack(t *testing.T) {
	dir := t.TempDir()
	o, _, _ := openedStore(t, dir)
	o.mu.Lock() // before anything is written
	o.rotateAt, o.allowed = 64<<10, 256<<10
	o.mu.Unlock()
	put(t, o, "old", 1)
	filler := strings.Repeat("x", 1<<10)
	for i := range 2000 {
		o.Done(put(t, o, fmt.Sprint(i, filler), 2))
	}
	if err := o.Close(); err != nil { // it waits for files that are being removed
		t.Fatal(err)
	}
	var total int64
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 1<<20 {
		t.Errorf("the log takes %d bytes for one delivery", total)
	}
	o, pending, log := openedStore(t, dir)
	if got := texts(pending); !slices.Equal(got, []string{"old"}) || log != "" {
		t.Errorf("pending %v, want old; log %s", got, log)
	}
	if err := o.Close(); err != nil {
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
					o.Done(id)
					continue
				}
				mu.Lock()
				left[text] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o, pending, _ := openedStore(t, dir)
	got := texts(pending)
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(left)); !slices.Equal(got, want) {
		t.Errorf("%d pending, want %d", len(got), len(want))
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}
