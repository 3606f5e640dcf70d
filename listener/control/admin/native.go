package admin

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"mockserver/internal/histogram"
)

// nativeSchema makes the upper bound of each bucket of a native histogram 2^(1/8), or 1.09, times
// that of the previous bucket.
const nativeSchema = 3

// bothHistogram is a histogram with both classic and native buckets.
type bothHistogram struct {
	prometheus.Metric // the classic one

	native prometheus.Metric
}

// withNative adds native buckets for the same durations to a classic histogram.
func withNative(classic prometheus.Metric, d *prometheus.Desc, l histogram.Snapshot, labels []string) (prometheus.Metric, error) {
	buckets, zero := map[int]int64{}, uint64(0)
	for length, n := range l.Cells() {
		if length <= 0 {
			zero += n
			continue
		}
		buckets[int(math.Ceil(math.Log2(length.Seconds())*(1<<nativeSchema)))] += int64(n)
	}
	native, err := prometheus.NewConstNativeHistogram(d, l.Count, l.Sum.Seconds(), buckets, nil, zero, nativeSchema, prometheus.DefNativeHistogramZeroThreshold, time.Time{}, labels...)
	return bothHistogram{classic, native}, err
}

// Write writes the classic histogram and the native buckets.
func (h bothHistogram) Write(to *dto.Metric) error {
	var native dto.Metric
	if err := h.native.Write(&native); err != nil {
		return err
	}
	if err := h.Metric.Write(to); err != nil {
		return err
	}
	into, from := to.Histogram, native.Histogram
	into.Schema, into.ZeroThreshold, into.ZeroCount = from.Schema, from.ZeroThreshold, from.ZeroCount
	into.PositiveSpan, into.PositiveDelta = from.PositiveSpan, from.PositiveDelta
	return nil
}
