package verdict

import (
	"math"
	"time"

	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
)

// timing contains how long the requests of one endpoint took during a period.
type timing struct {
	name     string             // name of the endpoint; "" for all requests together
	requests uint64             // requests that were answered, and messages of a WebSocket
	own      histogram.Snapshot // empty if all requests had a latency: the work is over before it is, or ends it late
	upstream histogram.Snapshot // the wait of all its requests for remote bodies; empty if none had to wait
	place    histogram.Snapshot // the wait for a place at an upstream; empty if none had to wait
	injected histogram.Snapshot
	late     histogram.Snapshot // how late injected latencies ended
	total    histogram.Snapshot // the response time
	items    histogram.Snapshot // how late later items of its streams were
}

// timings returns the timing of each endpoint that had requests between two readings, but not more
// than most requests.
func timings(a, b *Reading, most uint64) []timing {
	var all []timing
	for x, y := range record.Requested(&a.Counts, &b.Counts) {
		if y.Served()-y.Items-(x.Served()-x.Items) <= most {
			all = append(all, timingBetween(y.Endpoint, x, y))
		}
	}
	return all
}

// timingBetween returns what was counted between two readings for an endpoint or, with the name "",
// for all requests together: many endpoints may have one slow request each.
func timingBetween(name string, a, b *record.EndpointCounts) timing {
	t := timing{name: name, own: b.Service.Since(a.Service), injected: b.Injected.Since(a.Injected), late: b.InjectionError.Since(a.InjectionError)}
	t.total, t.upstream, t.place = b.Total.Since(a.Total), b.Fetched.Since(a.Fetched), b.UpstreamWait.Since(a.UpstreamWait)
	t.items = b.GapError.Since(a.GapError)
	t.requests = t.total.Count + b.Received - a.Received + b.Sent - a.Sent
	// Requests that end while the counters are read may be in one count and not in the other.
	apart := max(t.late.Count, t.total.Count) - min(t.late.Count, t.total.Count)
	if t.late.Count > 0 && apart <= t.total.Count/1000 { // all had a latency, and these are part of it
		t.own, t.upstream, t.place = histogram.Snapshot{}, histogram.Snapshot{}, histogram.Snapshot{}
	}
	for _, l := range [...]*histogram.Snapshot{&t.upstream, &t.place} {
		if l.Count > 0 {
			*l = l.OutOf(t.total.Count) // most requests may have been served from a copy, or got a place at once
		}
	}
	return t
}

// added estimates how much the server added to 99 of 100 responses, to compare endpoints.
func (t *timing) added() time.Duration {
	return max(t.late.Quantile(0.99), t.own.Quantile(0.99)+t.upstream.Quantile(0.99)+t.place.Quantile(0.99))
}

// exceeds reports whether certainly more than a share of durations is above a limit in milliseconds:
// among few requests, one slow request means little.
func exceeds(l histogram.Snapshot, limit, share float64) bool {
	if Milliseconds(l.Quantile(1-share)) <= limit {
		return false
	}
	expected := float64(l.Count) * share
	return float64(l.Over(asDuration(limit))) > expected+3*math.Sqrt(expected*(1-share))+1
}

// provenLate is the minimum length of the time during which, according to a probe, all requests
// were later than the limit. If the time is shorter, the probe may just have hit one short stall
// three times.
const provenLate = 5 * time.Millisecond

// probeLate returns how late the probe was for one request in a hundred, in milliseconds, if its figures
// stand for a share of the requests: if that is all of them, the 99th percentile. If there are few
// figures, the two largest are ignored, since they say little about 99 of 100 requests. The result
// is at most the limit unless the limit is certainly exceeded: a probe that ran late by some time
// proves that all requests during that time, except for a period of length limit at its end, were
// later than the limit. The result is nil if there are no figures.
func probeLate(l histogram.Snapshot, of, limit float64) *float64 {
	switch {
	case l.Count == 0:
		return nil
	case l.Count <= 2 || of <= 0.01:
		return new(0.0)
	}
	late := Milliseconds(l.Quantile(min(1-0.01/of, 1-2.5/float64(l.Count))))
	if late > limit && (l.Above(asDuration(limit)) < provenLate || l.Count < 100 && !exceeds(l, limit, 0.01/of)) {
		late = limit
	}
	return &late
}
