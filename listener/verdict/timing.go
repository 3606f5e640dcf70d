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
	added    histogram.Snapshot // what the server added to what is declared
	total    histogram.Snapshot // the response time
}

// timings returns the timing of each endpoint that had requests between two readings, and
// then that of all requests together: many endpoints may have a slow one each.
func timings(a, b *Reading) []timing {
	of := func(name string, a, b *record.EndpointCounts) timing {
		t := timing{name: name, own: b.Service.Since(a.Service), injected: b.Injected.Since(a.Injected), late: b.InjectionError.Since(a.InjectionError)}
		t.total, t.added, t.upstream = b.Total.Since(a.Total), t.own, b.Upstream.Since(a.Upstream)
		if t.upstream.Count > 0 {
			t.upstream = t.upstream.OutOf(t.total.Count) // most may have had a copy
		}
		switch {
		case t.late.Count > 0:
			t.added = t.late
		case t.upstream.Count > 0:
			t.added = t.total
		}
		return t
	}
	var all []timing
	for x, y := range record.Requested(&a.Counts, &b.Counts) {
		all = append(all, of(y.Endpoint, x, y))
	}
	return append(all, of("", &a.All, &b.All))
}

// exceeds reports whether the 99th percentile of durations is above a limit, in
// milliseconds, and certainly so: of few requests, one or two slow ones say little.
func exceeds(l histogram.Snapshot, limit float64) bool {
	if Milliseconds(l.Quantile(0.99)) <= limit {
		return false
	}
	within := l.Buckets([]time.Duration{time.Duration(limit * float64(time.Millisecond))})[0]
	expected := float64(l.Count) / 100
	return float64(l.Count-within) > expected+3*math.Sqrt(expected)+2
}
