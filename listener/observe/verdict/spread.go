package verdict

import (
	"time"

	"mockserver/internal/histogram"
)

// Spread is a distribution of durations, in milliseconds.
type Spread struct {
	Count uint64  `json:"count" doc:"number of values measured"`
	Mean  float64 `json:"mean" doc:"mean, in milliseconds"`
	P50   float64 `json:"p50" doc:"median"`
	P90   float64 `json:"p90" doc:"90th percentile"`
	P95   float64 `json:"p95" doc:"95th percentile"`
	P99   float64 `json:"p99" doc:"99th percentile"`
	P999  float64 `json:"p99_9" doc:"99.9th percentile"`
	Max   float64 `json:"max" doc:"longest"`
}

// SpreadOf summarizes a distribution.
func SpreadOf(l histogram.Snapshot) Spread {
	if l.Count == 0 {
		return Spread{}
	}
	return Spread{
		Count: l.Count, Mean: Milliseconds(l.Mean()), Max: Milliseconds(l.Max),
		P50: Milliseconds(l.Quantile(0.5)), P90: Milliseconds(l.Quantile(0.9)), P95: Milliseconds(l.Quantile(0.95)), P99: Milliseconds(l.Quantile(0.99)), P999: Milliseconds(l.Quantile(0.999)),
	}
}

// PerSecond returns how many there were a second; 0 in no time.
func PerSecond(n uint64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// Milliseconds converts a duration to milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
