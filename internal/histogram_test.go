package internal_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/histogram"
)

// Percentiles are within 1 % of the exact percentiles of the durations, whatever their size.
func TestHistogram_QuantilesAreTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		draw func() time.Duration
	}{
		{"from nanoseconds to a minute, evenly in each power", func() time.Duration {
			return time.Duration(math.Exp(rng.Float64() * math.Log(60e9)))
		}},
		{"two far apart", func() time.Duration {
			return []time.Duration{5 * time.Microsecond, 2 * time.Second}[rng.IntN(2)] + time.Duration(rng.IntN(1000))
		}},
		{"small whole numbers", func() time.Duration { return time.Duration(rng.IntN(300)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h histogram.Histogram
			var truth []time.Duration
			for range 50_000 {
				d := c.draw()
				truth = append(truth, d)
				h.Add(d)
			}
			slices.Sort(truth)
			var got histogram.Snapshot
			h.Read(&got)
			if got.Count != 50_000 || got.Max != truth[len(truth)-1] {
				t.Fatalf("count %d, max %v; want 50000, %v", got.Count, got.Max, truth[len(truth)-1])
			}
			for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
				want := truth[int(q*float64(len(truth)-1))]
				if off := math.Abs(float64(got.Quantile(q)-want)) / math.Max(float64(want), 1); off > 0.01 {
					t.Errorf("quantile %v is %v, want %v: %.2f %% off", q, got.Quantile(q), want, off*100)
				}
			}
		})
	}
}

func TestHistogram_Borders(t *testing.T) {
	const longestKept = 1<<42 - 1 // ns, the end of the last cell
	for _, c := range []struct{ in, most time.Duration }{
		{-5, 0}, {0, 0}, {127, 127}, {128, 128}, {255, 255}, {256, 257}, {2 * time.Hour, longestKept}, {math.MaxInt64, longestKept},
	} {
		var h histogram.Histogram
		h.Add(c.in)
		var got histogram.Snapshot
		h.Read(&got)
		for middle := range got.Cells() {
			if got.Count != 1 || float64(middle) < 0.996*float64(min(max(c.in, 0), longestKept)) || middle > c.most {
				t.Errorf("%d is in a cell around %d, want at most %d", c.in, middle, c.most)
			}
		}
	}
}

// No count is lost if several goroutines count concurrently, even while an octave is allocated.
func TestHistogram_CountsFromEverywhere(t *testing.T) {
	var h histogram.Histogram
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for range 20_000 {
				h.Add(time.Duration(rng.Int64N(1 << 37)))
			}
		})
	}
	all.Wait()
	var got histogram.Snapshot
	h.Read(&got)
	if got.Count != 160_000 {
		t.Errorf("counted %d of 160000", got.Count)
	}
}

func TestLengths_SinceAndMerge(t *testing.T) {
	var h, other histogram.Histogram
	h.Add(10)
	h.Add(1000)
	var before histogram.Snapshot
	h.Read(&before)
	h.Add(1000)
	h.Add(100_000)
	var after histogram.Snapshot
	h.Read(&after)
	later := after.Since(before)
	if later.Count != 2 || later.Quantile(0) < 1000 || later.Quantile(0) > 1010 || later.Sum < 100_600 || later.Sum > 101_400 {
		t.Errorf("the later values are %+v", later)
	}
	other.Add(10)
	other.Add(5)
	other.Read(&after)
	if after.Count != 6 || after.Quantile(0) != 5 || after.Sum < 101_600 || after.Sum > 102_450 {
		t.Errorf("both are %+v", after)
	}
	if got := after.Buckets([]time.Duration{5, 10, time.Millisecond}); !slices.Equal(got, []uint64{1, 3, 6}) {
		t.Errorf("in buckets they are %v", got)
	}
}

// sameCells reports whether two readings have the same counts in the same cells.
func sameCells(a, b histogram.Snapshot) bool {
	return maps.Equal(maps.Collect(a.Cells()), maps.Collect(b.Cells()))
}

// Since returns exactly what was added after a reading, cell by cell.
func TestLengths_SinceIsWhatWasAdded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var h, later histogram.Histogram
		var before, after, want histogram.Snapshot
		for range rng.IntN(50) {
			h.Add(time.Duration(rng.IntN(2000)))
		}
		h.Read(&before)
		for range rng.IntN(50) {
			d := time.Duration(rng.IntN(2000))
			h.Add(d)
			later.Add(d)
		}
		h.Read(&after)
		later.Read(&want)
		if got := after.Since(before); got.Count != want.Count || got.Sum != want.Sum || !sameCells(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}

func TestHistogram_Allocates(t *testing.T) {
	var h histogram.Histogram
	h.Add(5000)
	if n := testing.AllocsPerRun(100, func() { h.Add(5001) }); n > 0 {
		t.Errorf("counting allocates %v times", n)
	}
}

func BenchmarkHistogram(b *testing.B) {
	var h histogram.Histogram
	b.RunParallel(func(pb *testing.PB) {
		d := time.Duration(5000)
		for pb.Next() {
			h.Add(d)
			d = (d*31 + 7) & 0xfffff
		}
	})
}

func TestSnapshot_OutOf(t *testing.T) {
	l := harness.Histogram(10*time.Millisecond, 20*time.Millisecond)
	all := l.OutOf(200)
	if all.Count != 200 || all.Quantile(0.98) > time.Microsecond || all.Quantile(0.995) < 9*time.Millisecond || all.Max != 20*time.Millisecond || all.Sum != l.Sum {
		t.Errorf("got %+v, p98 %v, p99.5 %v", all, all.Quantile(0.98), all.Quantile(0.995))
	}
	if few := l.OutOf(1); few.Count != 2 || l.Count != 2 {
		t.Errorf("out of fewer: %+v of %+v", few, l)
	}
}
