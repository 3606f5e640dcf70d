package dispatcher

import (
	"slices"
	"testing"
	"time"
)

func TestLag_SinceIsWhatCameAfter(t *testing.T) {
	var l Lag
	for range 100 {
		l.add(time.Second)
	}
	before := l
	for i := range 100 {
		l.add(time.Duration(i+1) * time.Millisecond)
	}
	later := l.Since(&before)
	near := func(got, want time.Duration) bool { return got >= want*99/100 && got <= want*101/100 }
	if later.Count != 100 || !near(later.Quantile(0.5), 50*time.Millisecond) || !near(later.Max, 100*time.Millisecond) || !near(later.Mean(), 50500*time.Microsecond) {
		t.Errorf("count %d, median %v, max %v, mean %v; want those of 1 to 100 ms", later.Count, later.Quantile(0.5), later.Max, later.Mean())
	}
	if none := l.Since(&l); none.Count != 0 || none.Max != 0 || none.Quantile(0.99) != 0 || none.Mean() != 0 {
		t.Errorf("nothing came, and it is %d, %v", none.Count, none.Max)
	}
	bounds := []time.Duration{500 * time.Microsecond, 20500 * time.Microsecond, 200 * time.Millisecond, 2 * time.Second}
	if got := l.Buckets(bounds); !slices.Equal(got, []uint64{0, 20, 100, 200}) {
		t.Errorf("buckets %v, want 0, 20, 100, 200", got)
	}
}

// The mean of so many is cut to a nanosecond, so that the sum is not to be had of it: it
// would fall now and then.
func TestLag_SumDoesNotFall(t *testing.T) {
	var l Lag
	var before time.Duration
	for i := range 1000 {
		l.add(time.Duration(1 - i%2))
		if sum := l.Sum(); sum < before || sum != time.Duration(i/2+1) {
			t.Fatalf("sum %d after %d lags, and %d before", sum, i+1, before)
		}
		before = l.Sum()
	}
}
