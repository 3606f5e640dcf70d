package bench

import (
	"encoding/json"
	"math"
	"strconv"

	"mockserver/internal/histogram"
)

// figure is a number, or NaN if it is unknown: null in JSON, a dash in a table.
type figure float64

var unknown = figure(math.NaN())

func (f figure) isKnown() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// MarshalJSON implements json.Marshaler.
func (f figure) MarshalJSON() ([]byte, error) {
	if !f.isKnown() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// text returns the figure with a number of digits after the point.
func (f figure) text(digits int) string {
	if !f.isKnown() {
		return "–"
	}
	return strconv.FormatFloat(float64(f), 'f', digits, 64)
}

// latencies is a distribution of latencies.
type latencies struct{ histogram.Snapshot }

// at returns a percentile in milliseconds; unknown if nothing was answered.
func (l latencies) at(percentile float64) figure {
	if l.Count == 0 {
		return unknown
	}
	return figure(l.Quantile(percentile/100)) / 1e6
}

// MarshalJSON implements json.Marshaler.
func (l latencies) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]figure{
		"p50": l.at(50), "p90": l.at(90), "p99": l.at(99), "p99_9": l.at(99.9), "p99_99": l.at(99.99), "max": l.at(100),
	})
}
