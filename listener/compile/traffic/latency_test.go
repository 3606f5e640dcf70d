package traffic

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"mockserver/config/policy"
	"mockserver/matcher"
)

// declaredLatencies are the forms of a latency, each with the expected results: the length that a
// given part of all lengths does not exceed.
var declaredLatencies = []struct {
	name string
	policy.Latency
	want map[float64]time.Duration
}{
	{"fixed", policy.Latency{Min: 30 * time.Millisecond, Max: 30 * time.Millisecond}, map[float64]time.Duration{0: 30 * time.Millisecond, 0.5: 30 * time.Millisecond, 0.999: 30 * time.Millisecond}},
	{"uniform", policy.Latency{Min: 20 * time.Millisecond, Max: 80 * time.Millisecond}, map[float64]time.Duration{0: 20 * time.Millisecond, 0.25: 35 * time.Millisecond, 0.5: 50 * time.Millisecond, 0.9: 74 * time.Millisecond}},
	{"uniform from 0", policy.Latency{Max: 80 * time.Millisecond}, map[float64]time.Duration{0: 0, 0.5: 40 * time.Millisecond}},
	{"a curve", policy.Latency{Curve: []policy.Percentile{{Rank: 50, Length: 20 * time.Millisecond}, {Rank: 90, Length: 45 * time.Millisecond}, {Rank: 99, Length: 120 * time.Millisecond}, {Rank: 99.9, Length: 400 * time.Millisecond}, {Rank: 100, Length: time.Second}}},
		map[float64]time.Duration{0: 0, 0.25: 10 * time.Millisecond, 0.5: 20 * time.Millisecond, 0.7: 32500 * time.Microsecond, 0.9: 45 * time.Millisecond, 0.99: 120 * time.Millisecond, 0.999: 400 * time.Millisecond, 0.9995: 700 * time.Millisecond}},
	{"a curve with a least, without an end", policy.Latency{Min: 10 * time.Millisecond, Curve: []policy.Percentile{{Rank: 50, Length: 20 * time.Millisecond}, {Rank: 90, Length: 45 * time.Millisecond}}},
		map[float64]time.Duration{0: 10 * time.Millisecond, 0.25: 15 * time.Millisecond, 0.5: 20 * time.Millisecond, 0.9: 45 * time.Millisecond, 0.95: 45 * time.Millisecond, 0.9999: 45 * time.Millisecond}},
	{"a curve with a step", policy.Latency{Curve: []policy.Percentile{{Rank: 50, Length: 20 * time.Millisecond}, {Rank: 90, Length: 20 * time.Millisecond}, {Rank: 100, Length: 40 * time.Millisecond}}},
		map[float64]time.Duration{0.5: 20 * time.Millisecond, 0.7: 20 * time.Millisecond, 0.9: 20 * time.Millisecond, 0.95: 30 * time.Millisecond}},
	// Quantiles of the normal distribution: 0.8413447461 is 1 standard deviation, 0.9 is
	// 1.2815515655.
	{"lognormal", policy.Latency{Median: 40 * time.Millisecond, Sigma: 0.4}, map[float64]time.Duration{0: 0, 0.5: 40 * time.Millisecond,
		0.8413447461: time.Duration(40e6 * math.Exp(0.4)), 0.9: time.Duration(40e6 * math.Exp(0.4*1.2815515655)), 0.1: time.Duration(40e6 * math.Exp(-0.4*1.2815515655))}},
	{"lognormal that does not spread", policy.Latency{Median: 40 * time.Millisecond}, map[float64]time.Duration{0: 40 * time.Millisecond, 0.5: 40 * time.Millisecond, 0.999: 40 * time.Millisecond}},
}

func TestLatency_DeclaredPercentilesAreMet(t *testing.T) {
	for _, c := range declaredLatencies {
		length := NewLatency(&c.Latency, "GET /").length
		for part, want := range c.want {
			if got := length(part); (got - want).Abs() > time.Microsecond {
				t.Errorf("%s: p%v is %v, want %v", c.name, 100*part, got, want)
			}
		}
		last := time.Duration(0)
		for i := range 10_000 {
			got := length(float64(i) / 10_000)
			if got < last {
				t.Fatalf("%s: the latency falls from %v to %v at p%v", c.name, last, got, float64(i)/100)
			}
			last = got
		}
	}
}

// At the declared points of a curve, the percentiles are exact.
func TestLatency_PointsOfACurveAreExact(t *testing.T) {
	for _, c := range declaredLatencies {
		length := NewLatency(&c.Latency, "GET /").length
		for _, p := range c.Curve {
			if got := length(p.Rank / 100); got != p.Length {
				t.Errorf("%s: p%v is %v, want %v", c.name, p.Rank, got, p.Length)
			}
		}
	}
}

// Of 100,000 requests with the given seed, the declared part does not exceed each percentile,
// within four standard deviations.
func TestLatency_DrawnPercentilesAreTheDeclared(t *testing.T) {
	const n = 100_000
	for _, c := range declaredLatencies {
		l := NewLatency(&c.Latency, "GET /")
		lengths := drawn(l, n)
		slices.Sort(lengths)
		for part, want := range c.want {
			if part == 0 {
				continue // no length is drawn below it
			}
			off := 4 * math.Sqrt(part*(1-part)/n)
			low, high := quantile(lengths, part-off), quantile(lengths, part+off)
			if want < low-time.Microsecond || want > high+time.Microsecond {
				t.Errorf("%s: p%v of the drawn latencies is %v to %v, want %v", c.name, 100*part, low, high, want)
			}
			// The rank of the value among the drawn lengths is close too, unless several are equal.
			if at := l.length(part); l.length(part-1e-6) != at && l.length(part+1e-6) != at {
				rank, _ := slices.BinarySearch(lengths, at)
				if got := float64(rank) / n; math.Abs(got-part) > 0.005 {
					t.Errorf("%s: %v of the drawn latencies are up to %v, want %v", c.name, got, at, part)
				}
			}
		}
	}
}

func quantile(sorted []time.Duration, part float64) time.Duration {
	return sorted[min(max(int(part*float64(len(sorted))), 0), len(sorted)-1)]
}

// drawn returns the lengths that are drawn for n requests, each from its own stream.
func drawn(l *Latency, n int) []time.Duration {
	lengths := make([]time.Duration, n)
	for i := range lengths {
		var random matcher.Random
		random.Seed(7, uint64(i))
		lengths[i] = l.Draw(&random).Length
	}
	return lengths
}

func TestLatency_NoLengthIsTooLong(t *testing.T) {
	l := NewLatency(&policy.Latency{Median: 20 * time.Hour, Sigma: 10}, "GET /")
	for i := range uint64(10_000) {
		var random matcher.Random
		random.Seed(1, i)
		if got := l.Draw(&random).Length; got < 0 || got > 24*time.Hour {
			t.Fatalf("got %v", got)
		}
	}
	if got := l.length(1 - 1.0/(1<<53)); got != 24*time.Hour {
		t.Errorf("the longest is %v, want %v", got, 24*time.Hour)
	}
}

// Rates are met within four standard deviations, and a request is subject to at most one of them.
func TestLatency_Rates(t *testing.T) {
	const n = 100_000
	for _, c := range []struct{ failure, timeout float64 }{{0, 0}, {0.01, 0.005}, {0.5, 0.5}, {1, 0}, {0, 1}, {0, 0.001}} {
		l := NewLatency(&policy.Latency{Min: 5 * time.Millisecond, Max: 5 * time.Millisecond, FailureRate: c.failure, TimeoutRate: c.timeout, Timeout: 2 * time.Second}, "GET /")
		var failed, timedOut float64
		for i := range uint64(n) {
			var random matcher.Random
			random.Seed(3, i)
			switch w := l.Draw(&random); {
			case w.Instead == l.failing && w.Length == 5*time.Millisecond:
				failed++
			case w.Instead == l.timedOut && w.Length == 2*time.Second:
				timedOut++
			case w.Instead != nil || w.Length != 5*time.Millisecond || !w.Timed:
				t.Fatalf("got %+v", w)
			}
		}
		for name, r := range map[string]struct{ got, want float64 }{"failure": {failed, c.failure}, "timeout": {timedOut, c.timeout}} {
			if off := 4 * math.Sqrt(r.want*(1-r.want)*n); math.Abs(r.got-r.want*n) > off {
				t.Errorf("%v: %s occurred %v times in %d, want %v ± %.0f", c, name, r.got, n, r.want*n, off)
			}
		}
	}
}

// Without lengths, only the requests that time out wait.
func TestLatency_RatesAlone(t *testing.T) {
	l := NewLatency(&policy.Latency{TimeoutRate: 0.5}, "GET /")
	var random matcher.Random
	random.Seed(1, 1)
	seen := map[string]bool{}
	for range 100 {
		w := l.Draw(&random)
		seen[fmt.Sprint(w.Timed, w.Length, w.Instead != nil)] = true
	}
	if len(seen) != 2 || !seen["false 0s false"] || !seen["true 30s true"] {
		t.Errorf("got %v", seen)
	}
	if w := (*Latency)(nil).Draw(&random); w != (Wait{}) {
		t.Errorf("no latency: got %+v", w)
	}
}
