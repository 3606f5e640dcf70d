package statistics

import (
	"math"
	"slices"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// The first number of samples with which the interval of a percentile is finite: by the binomial
// distribution, the first n with q^n <= 2.5 %.
func TestPercentile_IsDeterminedByEnoughSamples(t *testing.T) {
	for _, c := range []struct {
		q      float64
		fewest int
	}{{0.5, 6}, {0.9, 36}, {0.95, 72}, {0.99, 368}, {0.999, 3688}} {
		for n, want := range map[int]bool{c.fewest - 1: false, c.fewest: true} {
			l := harness.Histogram(slices.Repeat([]time.Duration{time.Millisecond}, n)...)
			f := Percentile(l, c.q, Dependence{})
			if got := f.Value != nil; got != want || f.Samples != uint64(n) || (f.Low != nil) != want || (f.High != nil) != want {
				t.Errorf("percentile %v of %d samples: %+v, want determined to be %v", c.q, n, f, want)
			}
		}
	}
}

// The number of 100 values below the median is at most 39 in 1.8 % and at most 40 in 2.8 % of cases, so
// the interval is between ranks 40 and 41, and 60 and 61, of 100, and the
// exact ones of the incomplete beta function.
func TestRanks_AreThoseOfTheBinomialDistribution(t *testing.T) {
	for _, c := range []struct{ q, n, low, high float64 }{{0.5, 100, 40.7, 60.3}, {0.9, 50, 40.6, 49.4}, {0.99, 10_000, 9880.2, 9919.1}} {
		low, high, ok := ranks(c.q, c.n)
		if !ok || math.Abs(low-c.low) > 0.5 || math.Abs(high-c.high) > 0.5 {
			t.Errorf("percentile %v of %v: ranks %v to %v, want %v to %v", c.q, c.n, low, high, c.low, c.high)
		}
	}
}

// Durations that are all equal may be anywhere in their cell, so the interval covers it.
func TestPercentile_OfEqualDurationsCoversTheirCell(t *testing.T) {
	f := Percentile(harness.Histogram(slices.Repeat([]time.Duration{20 * time.Millisecond}, 10_000)...), 0.5, Dependence{})
	if *f.Low > 20 || *f.High < 20 || *f.High-*f.Low > 0.2 {
		t.Errorf("got %v to %v, want 20 ms within", *f.Low, *f.High)
	}
}

func TestPercentile_DependenceMakesItLessCertain(t *testing.T) {
	var all []time.Duration
	for i := range 10_000 {
		all = append(all, time.Duration(i)*time.Microsecond)
	}
	l := harness.Histogram(all...)
	alone, together := Percentile(l, 0.5, Dependence{}), Percentile(l, 0.5, Dependence{Effect: 4, Blocks: 1000})
	if ratio := (*together.High - *together.Low) / (*alone.High - *alone.Low); math.Abs(ratio-2) > 0.05 {
		t.Errorf("the interval is %v times as wide, want twice", ratio)
	}
	if f := Percentile(l, 0.999, Dependence{Effect: 4, Blocks: 1000}); f.Value != nil {
		t.Errorf("p99.9 of 2,500 independent samples: %+v, want not determined", f)
	}
}

// Values from R: qbeta(c(.025, .975), x + .5, n - x + .5), and from Byar's formula.
func TestShareAndRate(t *testing.T) {
	near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 2e-4*max(want, 1) }
	if f := Share(5, 100, Dependence{}); !near(f.Value, 0.05) || !near(f.Low, 0.0192) || !near(f.High, 0.1061) {
		t.Errorf("5 of 100: %v to %v", *f.Low, *f.High)
	}
	if f := Share(0, 100, Dependence{}); *f.Low != 0 || *f.Value != 0 || !near(f.High, 0.0247) {
		t.Errorf("0 of 100: %v to %v", *f.Low, *f.High)
	}
	if f := Share(0, 0, Dependence{}); f.Value != nil {
		t.Error("a share of nothing")
	}
	if f := Rate(100, 10, Dependence{}); !near(f.Value, 10) || !near(f.Low, 8.1362) || !near(f.High, 12.1627) {
		t.Errorf("100 in 10 s: %v to %v", *f.Low, *f.High)
	}
	if f := Rate(5, 0, Dependence{}); f.Value != nil {
		t.Error("a rate in no time")
	}
}

func TestDependence_IsSeenInBlocks(t *testing.T) {
	var calm, stalls []Block
	for i := range 20 {
		calm = append(calm, Block{1000, 10 + float64(i%3) - 1})
		stalls = append(stalls, Block{1000, 10 + 90*float64(i/19)})
	}
	if d := Shares(calm); d != (Dependence{}) {
		t.Errorf("blocks that differ by chance: %+v", d)
	}
	if d := Shares(stalls); d.Blocks != 20 || d.Effect < 10 {
		t.Errorf("one block has ten times as many: %+v", d)
	}
	if d := Counts(stalls[15:]); d.Blocks != 5 || d.Effect < 10 {
		t.Errorf("counts of which one is ten times as high: %+v", d)
	}
	if d := Counts(stalls[17:]); d != (Dependence{}) {
		t.Errorf("three blocks are too few to see anything, got %+v", d)
	}
	if d := Shares(make([]Block, 10)); d != (Dependence{}) {
		t.Errorf("nothing: %+v", d)
	}
}

func TestCompare_ChanceAndInterval(t *testing.T) {
	figure := func(low, value, high float64) Figure { return Figure{Value: &value, Low: &low, High: &high} }
	// Newcombe (1998), method 10, example (a): 56/70 and 48/80 with the intervals of Wilson.
	d := Compare(figure(0.49046, 0.6, 0.70038), figure(0.69184, 0.8, 0.87696), Absolute)
	if math.Abs(d.Low-0.0524) > 5e-4 || math.Abs(d.High-0.3339) > 5e-4 || d.Chance > 0.05 || d.Chance < 0.001 {
		t.Errorf("got %+v, want 0.0524 to 0.3339", d)
	}
	same := Compare(figure(9, 10, 11), figure(9, 10, 11), Ratio)
	if same.Value != 0 || same.Chance != 1 || same.Low >= 0 || same.High <= 0 {
		t.Errorf("equal figures: %+v", same)
	}
	for _, n := range [][2]uint64{{0, 10}, {10, 0}} {
		d := Compare(Rate(n[0], 10, Dependence{}), Rate(n[1], 10, Dependence{}), Ratio)
		if math.Abs(d.Value) != 1 || d.Low >= d.Value || d.High <= d.Value || d.Low*d.High < 0.3 || d.Chance > 0.005 {
			t.Errorf("%d and %d requests: %+v, want an interval around the difference that excludes 0", n[0], n[1], d)
		}
	}
	few := figure(9, 10, 11)
	few.blocks = 5
	if normal, student := Compare(figure(9, 10, 11), figure(13, 14, 15), Ratio), Compare(few, figure(13, 14, 15), Ratio); student.Chance <= normal.Chance {
		t.Errorf("with few blocks the chance is %v, with many %v", student.Chance, normal.Chance)
	}
}

// The example of Benjamini and Hochberg (1995), section 3.2: four of fifteen.
func TestDiscoveries_OfBenjaminiAndHochberg(t *testing.T) {
	found := Discoveries([]float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000}, 0.05)
	n := 0
	for _, one := range found {
		if one {
			n++
		}
	}
	if n != 4 || !found[3] || found[4] {
		t.Errorf("found %v, want the first four", found)
	}
	if len(Discoveries(nil, 0.05)) != 0 {
		t.Error("nothing was tested")
	}
}
