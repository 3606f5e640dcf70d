package listener

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// A quantile is within 1% of that of the numbers themselves, or 1 µs.
func TestDeviations_QuantilesAreNear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"short":  func() time.Duration { return time.Duration(random.Int64N(int64(200 * time.Microsecond))) },
		"long":   func() time.Duration { return time.Duration(random.Int64N(int64(time.Minute))) },
		"spread": func() time.Duration { return time.Duration(1) << random.Int64N(35) * 3 / 2 },
		"none":   func() time.Duration { return 0 },
	} {
		var d deviations
		all := make([]time.Duration, 10_000)
		for i := range all {
			all[i] = draw()
			d.add(all[i])
		}
		slices.Sort(all)
		var e LatencyError
		d.read(&e)
		if e.Count != 10_000 || e.Max != all[len(all)-1] {
			t.Errorf("%s: count %d, most %v, want 10000 and %v", name, e.Count, e.Max, all[len(all)-1])
		}
		for _, part := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 1} {
			want := all[min(max(int(part*10_000)-1, 0), len(all)-1)]
			if got := e.Quantile(part); (got - want).Abs() > max(want/100, time.Microsecond) {
				t.Errorf("%s: quantile %v is %v, want %v", name, part, got, want)
			}
		}
	}
}

// Whatever is added counts, in a bucket that exists.
func TestDeviations_Extremes(t *testing.T) {
	var d deviations
	for _, length := range []time.Duration{-time.Hour, -1, 0, 1, time.Microsecond, 64 * time.Microsecond, time.Minute, time.Hour, 1<<63 - 1} {
		d.add(length)
	}
	var e LatencyError
	d.read(&e)
	if e.Count != 9 || e.Max != 1<<63-1 {
		t.Errorf("got %d, %v", e.Count, e.Max)
	}
	for bucket := range deviationBuckets {
		if got := deviationBucket(deviationIn(bucket)); got != bucket {
			t.Fatalf("the middle of bucket %d is in bucket %d", bucket, got)
		}
	}
	if (&LatencyError{}).Quantile(0.5) != 0 {
		t.Error("the quantile of nothing is not 0")
	}
	if size := unsafe.Sizeof(d); size > 11<<10 {
		t.Errorf("it takes %d bytes, want at most 11 KiB, as is documented", size)
	}
}

func TestDeviations_AreCountedByAllAtOnce(t *testing.T) {
	var d deviations
	var adding sync.WaitGroup
	for i := range 8 {
		adding.Go(func() {
			for j := range 1000 {
				d.add(time.Duration(1000*i+j) * time.Microsecond)
			}
		})
	}
	adding.Wait()
	var e LatencyError
	if d.read(&e); e.Count != 8000 || e.Max != 7999*time.Microsecond || e.Mean != 3999500*time.Nanosecond {
		t.Errorf("got %d, %v, %v", e.Count, e.Max, e.Mean)
	}
}

// An endpoint that nothing is counted of has none.
func TestLatencyErrors_OfOthersAreNone(t *testing.T) {
	s := configured(t, `
- endpoint: {path: /faulty, response: {}, fault: {type: empty}}
- endpoint: {path: /bounded, response: {}, capacity: {concurrent: 1}}
- endpoint: {path: /limited, response: {}, rate-limit: {}}
- endpoint: {path: /plain, response: {}}
- endpoint: {path: /late, response: {}, latency: {min: 1us}}
`)
	for _, path := range []string{"/bounded", "/limited", "/plain", "/late"} {
		answersOf(t, s, 1, path)
	}
	if all := s.LatencyErrors(); len(all) != 1 || all[0].Endpoint != "GET /late" || all[0].Count != 1 {
		t.Errorf("got %d of them, want one of GET /late with one answer", len(all))
	}
}
