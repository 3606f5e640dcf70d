package fetcher

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mockserver/renderer"
)

// audit checks that the recorded cost of a cache is the sum of the costs of its entries and within
// its budget, and that each entry is on its shelf.
func audit(t testing.TB, c *cache) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var total int64
	for at := c.ring.Front(); at != nil; at = at.Next() {
		e := at.Value.(*entry)
		total += e.size
		if e.gone.Load() || e.shelf.entries[e.key] != e {
			t.Errorf("entry %q is in the ring and not on its shelf", e.key)
		}
	}
	if total != c.total {
		t.Errorf("total = %d, the entries cost %d", c.total, total)
	}
	if c.total > c.max && c.ring.Len() > 1 {
		t.Errorf("%d bytes in %d entries are kept, want %d at most", c.total, c.ring.Len(), c.max)
	}
}

func TestCacheKeepsItsBudget(t *testing.T) {
	c := newCache(100 * 1024)
	a, b := newShelf(c), newShelf(c)
	for i := range 1000 {
		s := []*shelf{a, b}[i%2]
		s.entry(fmt.Appendf(nil, "key %d", i)).keep(&kept{size: int64(i % 7 * 1024)})
		audit(t, c)
	}
	if n := len(a.entries) + len(b.entries); n == 0 || n > 200 {
		t.Errorf("%d entries are kept", n)
	}
	a.clear()
	audit(t, c)
	b.clear()
	if c.total != 0 || c.ring.Len() != 0 {
		t.Errorf("after clear: %d bytes in %d entries", c.total, c.ring.Len())
	}
}

func TestCacheGivesUpWhatIsNotUsed(t *testing.T) {
	c := newCache(10 * 1024)
	s := newShelf(c)
	hot := s.entry([]byte("hot"))
	hot.keep(&kept{size: 1024})
	for i := range 100 {
		hot.touch()
		s.entry(fmt.Appendf(nil, "cold %d", i)).keep(&kept{size: 1024})
	}
	if hot.gone.Load() {
		t.Error("the entry in use was evicted")
	}
	if e := s.find([]byte("cold 0")); e != nil {
		t.Error("the entry used once, long ago, was kept")
	}
}

func TestOneEntryOverTheBudgetIsKeptAlone(t *testing.T) {
	c := newCache(10 * 1024)
	s := newShelf(c)
	s.entry([]byte("small")).keep(&kept{size: 1})
	big := s.entry([]byte("big"))
	big.keep(&kept{size: 1 << 20})
	if big.gone.Load() || len(s.entries) != 1 {
		t.Errorf("%d entries, big gone: %v; want only the big one", len(s.entries), big.gone.Load())
	}
	s.entry([]byte("next")).keep(&kept{size: 1})
	if !big.gone.Load() {
		t.Error("the big entry, no longer used, was not evicted")
	}
	audit(t, c)
}

func TestCacheUnderConcurrentUse(t *testing.T) {
	c := newCache(64 * 1024)
	shelves := []*shelf{newShelf(c), newShelf(c)}
	var done sync.WaitGroup
	for i := range 8 {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		done.Go(func() {
			for range 2000 {
				s := shelves[random.IntN(2)]
				e := s.entry(fmt.Appendf(nil, "%d", random.IntN(100)))
				switch random.IntN(10) {
				case 0:
					e.drop()
				case 1:
					s.clear()
				default:
					e.keep(&kept{size: random.Int64N(4096)})
				}
			}
		})
	}
	done.Wait()
	audit(t, c)
}

func TestEvictedFileIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.json"), `"`+strings.Repeat("a", 3000)+`"`)
	write(t, filepath.Join(dir, "b.json"), `"`+strings.Repeat("b", 3000)+`"`)
	l := newTestLoader(t, Options{MaxCache: 8 << 10})
	a, b := mustSource(t, l, jsonBody("a.json"), dir), mustSource(t, l, jsonBody("b.json"), dir)
	for i := range 4 {
		if !strings.Contains(bodyOf(t, a, ""), "aaa") || !strings.Contains(bodyOf(t, b, ""), "bbb") {
			t.Errorf("round %d: the wrong body", i)
		}
		audit(t, l.cache)
	}
	if n := l.cache.ring.Len(); n != 1 {
		t.Errorf("%d entries are kept, want the room to be too small for two", n)
	}
}

// Templates are compiled for one snapshot; they must be released with it, or each reload would
// leave its templates behind.
func TestTemplatesGoWithTheirSource(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f.json"), `"{{query-params.x}}"`)
	l := newTestLoader(t, Options{})
	for range 10 {
		if _, problems := l.Source(jsonBody("f.json"), dir, renderer.JSON, false, &renderer.Scope{}); problems != nil {
			t.Fatal(problems)
		}
	}
	for range 1000 {
		runtime.GC()
		l.cache.mu.RLock()
		n := l.cache.ring.Len()
		l.cache.mu.RUnlock()
		if n == 0 {
			audit(t, l.cache)
			return
		}
	}
	t.Errorf("%d templates are kept though no source is", l.cache.ring.Len())
}
