package verdict

import (
	"fmt"
	"slices"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/wording"
)

// arrivedBetween returns how requests arrived between two readings.
func arrivedBetween(a, b *Reading) Arrived {
	before, after, stops := &a.Counts.Arrivals, &b.Counts.Arrivals, b.Stops.Since(a.Stops)
	n := after.Requests - before.Requests
	return Arrived{
		Arrivals: n, ArrivalRate: PerSecond(n, b.Counts.Time.Sub(a.Counts.Time).Seconds()),
		Openers: after.First - before.First, Overlapping: after.Overlapping - before.Overlapping,
		Stops: stops.Count, LongestStop: Milliseconds(stops.Max),
	}
}

// openingBetween returns the share of requests and messages that came over a new connection, for which an
// echo stands. It is 1 if there were none, and while echoes do not come back: then no connection is made.
func openingBetween(a, b *Reading) float64 {
	before, after := &a.Counts.Arrivals, &b.Counts.Arrivals
	came := after.Requests - before.Requests + b.All.Received + b.All.Sent - a.All.Received - a.All.Sent
	if came == 0 || b.Probe.Waiting.Count > 1 {
		return 1
	}
	return float64(after.First-before.First) / float64(came)
}

// lateSince returns how late the probe was at most since an earlier reading, or is now.
func (r *Reading) lateSince(earlier *Reading) time.Duration {
	beats, _ := probed(&earlier.Probe, &r.Probe)
	return max(beats.Max, r.Probe.Overdue)
}

// stopsOf returns the stops up to the reading b that the load generator made. It leaves out those since
// the reading a during which the server may have stood still, because the probe was late by a quarter
// of their length, also just before a: the arrivals are read before the probe is. And it leaves out
// those that the server's responses may have caused: a load generator that waits for delayed responses
// sends its next requests as soon as it has them.
func stopsOf(a, b *Reading) histogram.Snapshot {
	found := b.Counts.Arrivals.Stops.Since(a.Counts.Arrivals.Stops)
	if found.Count == 0 {
		return a.Stops
	}
	late := max(b.lateSince(a), a.late)
	idle, openers := b.Counts.Arrivals.Idle.Since(a.Counts.Arrivals.Idle), b.Counts.Arrivals.First-a.Counts.Arrivals.First
	if openers <= idle.Count { // connections are kept: those that were new need not have come after a stop
		openers = 0
	}
	made := histogram.Counted(func(yield func(time.Duration, uint64) bool) {
		for length, n := range found.Cells() {
			idled := openers + idle.Count - idle.Buckets([]time.Duration{length * 3 / 4})[0]
			if late < length/4 && idled >= n && !yield(length, n) {
				return
			}
		}
	})
	return histogram.Sum(slices.Values([]histogram.Snapshot{a.Stops, made}))
}

// stopsText says how arrivals stopped.
func (s *Sample) stopsText() string {
	return fmt.Sprintf("arrivals stopped %s, for up to %s ms, while the probe was on time: the load generator paused, not the server",
		wording.Count(int(s.Stops), "time"), Short(s.LongestStop))
}

// openerShare returns the share of requests that were the first of their connection. At low rates,
// connections that are not kept cost little.
func (s *Sample) openerShare() *float64 {
	if s.ArrivalRate <= 500 {
		return new(0.0)
	}
	return new(float64(s.Openers) / float64(s.Arrivals))
}

// IsOfGenerator reports whether an explanation is about the load generator, so that it says something
// about a run whose timing can be trusted.
func IsOfGenerator(code string) bool {
	return slices.ContainsFunc(checks, func(c check) bool { return c.code == code && c.generator })
}
