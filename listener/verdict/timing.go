package verdict

import (
	"math"
	"time"

	"mockserver/internal/histogram"
	"mockserver/listener/record"
)

// timing is how long the requests of one endpoint took during some time.
type timing struct {
	name     string // of the endpoint; "" for all requests together
	own      histogram.Snapshot
	upstream histogram.Snapshot // the wait for remote bodies, of all its requests; empty if none had to wait
	injected histogram.Snapshot
	late     histogram.Snapshot // the error of injection
	total    histogram.Snapshot // the response time
}

// timings returns the timing of each endpoint that had requests between two readings, but at
// most so many.
func timings(a, b *Reading, most uint64) []timing {
	var all []timing
	for x, y := range record.Requested(&a.Counts, &b.Counts) {
		if y.Requests-x.Requests <= most {
			all = append(all, timingBetween(y.Endpoint, x, y))
		}
	}
	return all
}

// timingBetween returns what was counted between two readings, of an endpoint or, as "", of
// all requests together: many endpoints may have a slow one each.
func timingBetween(name string, a, b *record.EndpointCounts) timing {
	t := timing{name: name, own: b.Service.Since(a.Service), injected: b.Injected.Since(a.Injected), late: b.InjectionError.Since(a.InjectionError)}
	t.total, t.upstream = b.Total.Since(a.Total), b.Upstream.Since(a.Upstream)
	if t.upstream.Count > 0 {
		t.upstream = t.upstream.OutOf(t.total.Count) // most may have had a copy
	}
	return t
}

// added returns what the server added at most to 99 of 100 responses. The work on those with
// a latency is done during it.
func (t *timing) added() time.Duration {
	late := t.late.Quantile(0.99)
	if t.late.Count > 0 && t.late.Count == t.total.Count {
		return late
	}
	return max(late, t.own.Quantile(0.99)+t.upstream.Quantile(0.99))
}

// exceeds reports whether the 99th percentile of durations is above a limit, in
// milliseconds, and certainly so: of few requests, a slow one says little.
func exceeds(l histogram.Snapshot, limit float64) bool {
	if Milliseconds(l.Quantile(0.99)) <= limit {
		return false
	}
	within := l.Buckets([]time.Duration{time.Duration(limit * float64(time.Millisecond))})[0]
	expected := float64(l.Count) / 100
	return float64(l.Count-within) > expected+3*math.Sqrt(expected)+1
}

// provenLate is how much of the time has to be late by what a probe measured, for that to be
// more than a short stall that it happened to meet three times.
const provenLate = 5 * time.Millisecond

// probeLate returns the 99th percentile of what a probe measured, in milliseconds, without the
// two largest of few figures, which say little about 99 of 100 requests. It is the limit at
// most unless that is surely exceeded: what ran late by a time proves that requests in all of
// that time, but for the limit at its end, were later than the limit. It is nil for no figures.
func probeLate(l histogram.Snapshot, limit float64) *float64 {
	switch {
	case l.Count == 0:
		return nil
	case l.Count <= 2:
		return new(0.0)
	}
	p99 := Milliseconds(l.Quantile(min(0.99, 1-2.5/float64(l.Count))))
	if p99 > limit && l.Above(time.Duration(limit*float64(time.Millisecond))) < provenLate {
		p99 = limit
	}
	return &p99
}
