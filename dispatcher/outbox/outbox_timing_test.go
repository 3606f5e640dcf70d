package outbox

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkOutbox_Store(b *testing.B) {
	o, _, _ := openedStore(b, b.TempDir())
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		s := storedAs(strings.Repeat("x", 300), 1)
		for pb.Next() {
			if err := o.Store(&s); err != nil {
				b.Error(err)
			}
			o.Done(s.ID)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "stored/s")
	if err := o.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOutbox_StoreWhileItRewrites measures how long Store waits while a file of the log is
// rewritten.
func BenchmarkOutbox_StoreWhileItRewrites(b *testing.B) {
	filler := strings.Repeat("x", 300)
	for b.Loop() {
		o, _, _ := openedStore(b, b.TempDir())
		o.mu.Lock() // before anything is written
		o.allowed = 0
		o.mu.Unlock()
		rewritten := func() bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.files[0].number > 1
		}
		var longest atomic.Int64
		var storing sync.WaitGroup
		for range 64 {
			storing.Go(func() {
				for i := 0; !rewritten(); i++ {
					begin := time.Now()
					id := put(b, o, filler, 1)
					if took := int64(time.Since(begin)); took > longest.Load() {
						longest.Store(took) // either of two concurrent values is fine
					}
					if i%6 > 0 {
						o.Done(id)
					}
				}
			})
		}
		storing.Wait()
		b.ReportMetric(float64(longest.Load())/1e6, "longest-ms")
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op") // the time to fill a file is meaningless
}
