package load

import (
	"math/rand/v2"
	"testing"
	"time"
)

// firstDue is exact: it returns the first request that is due at or after a time.
func TestCourseFirstDue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []float64{0.1, 1, 3, 7.3, 777, 1000, 33333.3, 99999, 1e6, 3e6} {
		c := newSchedule(rate)
		for range 1000 {
			at := random.Int64N(int64(time.Hour))
			i := c.firstDue(at)
			if c.due(i) < at || i > 0 && c.due(i-1) >= at {
				t.Fatalf("rate %g: request %d, due at %d, is not the first due at %d", rate, i, c.due(i), at)
			}
		}
	}
}

// With a rate of n requests a second, n requests are due in every second.
func TestCourseCount(t *testing.T) {
	for _, rate := range []float64{1, 3, 7, 1000, 20000, 33333, 100000} {
		c := newSchedule(rate)
		c.start(3*time.Second, 2*time.Second)
		if n := c.dueTo - c.dueFrom; n != int64(2*rate) {
			t.Errorf("%d due in 2 s at %g a second", n, rate)
		}
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		cpu, elapsed time.Duration
		processors   int
		want         float64
	}{
		{time.Second, 2 * time.Second, 1, 0.5},
		{time.Second, 2 * time.Second, 2, 0.25},
		{3 * time.Second, 2 * time.Second, 1, 1},
		{-time.Second, 2 * time.Second, 1, 0},
		{time.Second, 0, 1, 0},
		{time.Second, time.Second, 0, 0},
	} {
		if got := share(tt.cpu, tt.elapsed, tt.processors); got != tt.want {
			t.Errorf("%s of %s on %d: %g, want %g", tt.cpu, tt.elapsed, tt.processors, got, tt.want)
		}
	}
}
