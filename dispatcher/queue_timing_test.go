package dispatcher

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Acceptance: scheduling costs a request at most 500 ns and one allocation.
func BenchmarkQueue_Enqueue(b *testing.B) {
	own := []byte("http://127.0.0.1:1/orders/4711")
	for name, parts := range map[string]Parts{"static": {}, "own": {URL: own, Body: []byte(`{"order":4711}`)}} {
		b.Run(name, func(b *testing.B) {
			q := benched(b, Options{MaxPending: 1 << 30})
			w := hook("http://127.0.0.1:1/x")
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					enqueue(q, NewDelivery(w, time.Hour, 1, parts), time.Now())
				}
			})
		})
	}
}

// benched returns a queue that is closed at the end of the benchmark, even if deliveries are
// pending.
func benched(b *testing.B, opts Options) *Queue {
	b.Helper()
	q, err := Open(opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		q.Close(ctx)
	})
	return q
}

// Acceptance: a million pending deliveries take at most 200 bytes each, in addition to the shared
// text, and the garbage collector stops the program for at most 2 ms.
func BenchmarkQueue_Pending(b *testing.B) {
	const pending = 1_000_000
	for b.Loop() {
		q := benched(b, Options{})
		w := hook("http://127.0.0.1:1/x")
		before := heap()
		for i := range pending {
			enqueue(q, NewDelivery(w, time.Hour+time.Duration(i)*time.Millisecond, 1, Parts{}), time.Now())
		}
		q.Stats() // the actor has received all of them
		b.ReportMetric(float64(heap()-before)/pending, "bytes/pending")
		b.ReportMetric(float64(longestPause(10).Nanoseconds())/1e3, "pause-µs")
	}
}

// heap returns how much memory is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // frees what finalizers and pools have released
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// longestPause returns the longest pause of a number of garbage collections.
func longestPause(collections int) (longest time.Duration) {
	var m runtime.MemStats
	for range collections {
		runtime.GC()
		runtime.ReadMemStats(&m)
		longest = max(longest, time.Duration(m.PauseNs[(m.NumGC+255)%256]))
	}
	return longest
}

// Acceptance: 20,000 deliveries per second are sent, 99% with a lag of at most 10 ms, and no
// delivery is lost.
func BenchmarkQueue_DeliverAtRate(b *testing.B) {
	const rate, seconds = 20_000, 3
	for b.Loop() {
		target := newRemoteTarget(b)
		deliver(b, target, rate*seconds, time.Second/rate)
	}
}

// All deliveries are due at the same time.
func BenchmarkQueue_DeliverAtOnce(b *testing.B) {
	for b.Loop() {
		target := newRemoteTarget(b)
		deliver(b, target, 100_000, 0)
	}
}

// deliver sends n deliveries that fall due the given time apart, and reports how late they were and
// what they cost.
func deliver(b *testing.B, target *remoteTarget, n int, apart time.Duration) {
	b.Helper()
	q, err := Open(Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := hook(target.url + "/x")
	begin := time.Now().Add(time.Second)
	for i := range n {
		enqueue(q, NewDelivery(w, 0, 1, Parts{}), begin.Add(time.Duration(i)*apart))
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	s, err := q.Close(context.Background()) // once all are sent
	took := time.Since(begin)
	if err != nil {
		b.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	each := float64(n)
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/1e3/each, "cpu-µs/delivery")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/each, "allocs/delivery")
	b.ReportMetric(each/took.Seconds(), "delivered/s")
	b.ReportMetric(float64(n-target.count(b)), "lost")
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(s.Lag.Quantile(float64(p)/100).Microseconds()), "p"+strconv.Itoa(p)+"-µs")
	}
	b.ReportMetric(float64(s.Lag.Max.Microseconds()), "max-µs")
	b.ReportMetric(0, "ns/op") // the time for all of them together is meaningless
}

// Acceptance: 20,000 deliveries per second are accepted, each safe on disk.
func BenchmarkQueue_AcceptDurable(b *testing.B) {
	q := benched(b, Options{Store: b.TempDir(), MaxPending: 1 << 30})
	w := hook("http://127.0.0.1:1/x")
	body := []byte(`{"type":"payment.succeeded","payment":"pi_000000000000000000000000","amount":4200}`)
	b.SetParallelism(32) // 64 requests at once, on two processors
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !enqueue(q, NewDelivery(w, time.Hour, 1, Parts{Body: body}), time.Now()) {
				b.Error("refused")
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepted/s")
}
