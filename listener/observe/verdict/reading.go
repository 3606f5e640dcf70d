package verdict

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/probe"
	"mockserver/listener/observe/record"
)

// Reading contains all figures at one time. Most of them only increase; the difference between two
// readings is what happened in between.
type Reading struct {
	Time     time.Time
	Counts   record.Counts
	Webhooks dispatcher.Stats
	Probe    probe.Figures
	All      record.EndpointCounts // all requests, including unmatched ones, added up

	Stops histogram.Snapshot // those of Counts.Arrivals that the load generator made; see stopsOf

	late    time.Duration         // how late the probe was at most since the reading before
	matched record.EndpointCounts // everything except unmatched requests
	usage   usage
	waits   waitHistogram // waits of runnable goroutines
	pauses  waitHistogram // pauses of the garbage collector
}

// The runtime metrics that are read. Both are histograms.
const (
	schedulerMetric = "/sched/latencies:seconds"
	pausesMetric    = "/sched/pauses/total/gc:seconds"
)

// Server is the server whose timing is judged.
type Server interface {
	Counts() record.Counts
	Webhooks() dispatcher.Stats
	Probe() *probe.Probe
}

// source reads the figures of a server and of the machine it runs on.
type source struct {
	server Server
	meter  *meter
}

// Read reads all figures.
func (s *source) Read() Reading {
	r := NewReading(time.Time{}, s.server.Counts(), s.server.Webhooks())
	r.usage = s.meter.read()
	r.waits, r.pauses = readRuntime()
	p := s.server.Probe()
	p.Served(r.All.Served(), r.All.InjectionError.Count+r.All.Upstream.Count, r.Counts.InFlight)
	r.Probe = p.Figures()
	r.Time = time.Now()
	return r
}

// NewReading returns a reading without the figures of the machine.
func NewReading(at time.Time, counts record.Counts, webhooks dispatcher.Stats) Reading {
	all := []*record.EndpointCounts{&counts.Options, &counts.Malformed, &counts.Gone}
	for i := range counts.Endpoints {
		all = append(all, &counts.Endpoints[i])
	}
	matched := record.Total(all)
	return Reading{
		Time: at, Counts: counts, Webhooks: webhooks,
		All: record.Total([]*record.EndpointCounts{&matched, &counts.Unmatched}), matched: matched,
	}
}

// Between returns what happened between two readings.
func Between(a, b *Reading) Sample { return between(a, b).Alone() }

// timesBetween returns the distributions of what happened between two readings; all is what was
// counted for requests.
func timesBetween(a, b *Reading, all *record.EndpointCounts) Times[histogram.Snapshot] {
	t := TimesOf(all)
	t.WebhookLag, t.Scheduler, t.Pauses = b.Webhooks.Lag.Since(a.Webhooks.Lag), b.waits.since(a.waits), b.pauses.since(a.pauses)
	t.Probe, t.Echo = probed(&a.Probe, &b.Probe)
	t.IdleTime, t.ScheduleError = b.Counts.Arrivals.Idle.Since(a.Counts.Arrivals.Idle), b.Counts.Arrivals.Errors.Since(a.Counts.Arrivals.Errors)
	return t
}

func between(a, b *Reading) Sample {
	apart := b.Time.Sub(a.Time)
	all, matched := b.All.After(&a.All), b.matched.After(&a.matched)
	s := Sample{
		Time: b.Time.UTC(), Seconds: apart.Seconds(),
		Requests: all.Requests, Messages: all.Received + all.Sent, StreamItems: all.Items, Streams: b.All.Open(), Unmatched: all.Requests - matched.Requests,
		Limited: all.Limited, Refused: all.Refused, In: all.In, Out: all.Out,
		Protocols:      protocolsBetween(&a.Counts, &b.Counts),
		Arrived:        arrivedBetween(a, b),
		AcceptFailures: b.Counts.AcceptFailures - a.Counts.AcceptFailures,
		StateGivenUp:   max(0, givenUp(b.Counts.Sets)-givenUp(a.Counts.Sets)), // negative if a set was removed
		Connections:    b.Counts.Connections, InFlight: b.Counts.InFlight,
		RecordingDropped: b.Counts.RecordingDropped - a.Counts.RecordingDropped,
		Webhooks: Webhooks{
			WebhooksStarted: startedWebhooks(&b.Webhooks) - startedWebhooks(&a.Webhooks),
			WebhooksSent:    b.Webhooks.Delivered - a.Webhooks.Delivered, WebhooksDead: b.Webhooks.Dead - a.Webhooks.Dead,
			WebhooksRefused: b.Webhooks.Refused - a.Webhooks.Refused, WebhooksPending: b.Webhooks.Pending,
			WebhooksDue: b.Webhooks.Due, WebhooksOldest: Milliseconds(b.Webhooks.Oldest),
		},
		times: timesBetween(a, b, &all), opening: openingBetween(a, b),
		Load: loadBetween(&a.usage, &b.usage, apart),
	}
	full, handshakes := b.Counts.FullHandshakes()
	fullBefore, before := a.Counts.FullHandshakes()
	s.FullHandshakes, s.Handshakes = full-fullBefore, handshakes-before
	s.Times = TimesAs(&s.times, SpreadOf)
	for _, n := range all.DeclaredFaults() {
		s.Faults += n
	}
	s.Failed = failedBetween(a, b, &matched)
	if s.Memory == 0 {
		s.Memory = runtimeMemory()
	}
	if s.Seconds > 0 {
		s.Rate = float64(s.Requests) / s.Seconds
	}
	return s
}

// startedWebhooks returns how many webhooks were ever accepted.
func startedWebhooks(s *dispatcher.Stats) int64 {
	return s.Pending + s.Delivered + s.Dead + s.Cancelled + s.Kept + s.Abandoned - s.Restored
}

// failedBetween returns the requests that failed between two readings; matched is what was counted for
// all but unmatched requests.
func failedBetween(a, b *Reading, matched *record.EndpointCounts) Failed {
	malformed := b.Counts.Malformed.After(&a.Counts.Malformed)
	known := matched.After(&malformed)
	f := FailedOf(&known)
	f.Malformed, f.Unmatched = malformed.Requests, b.Counts.Unmatched.Requests-a.Counts.Unmatched.Requests
	return f.summed()
}

// probed returns what a probe measured between two readings: the beats and echoes while requests
// were served or, if there were no beats then, while the server was idle.
func probed(before, after *probe.Figures) (beats, echoes histogram.Snapshot) {
	late := after.Serving.Since(before.Serving)
	if late.Beats.Count == 0 {
		late = after.Idle.Since(before.Idle)
	}
	return late.Beats, histogram.Sum(slices.Values([]histogram.Snapshot{late.Echoes, after.Waiting}))
}

// BetweenEndpoints is like Between, and adds the timing of each endpoint for the verdict.
func BetweenEndpoints(a, b *Reading) Sample {
	s := between(a, b)
	s.timings = append(timings(a, b, math.MaxUint64), timingBetween("", &a.All, &b.All))
	return s
}

// Distributions returns what the percentiles of a sample that is judged were calculated from.
func (s *Sample) Distributions() Times[histogram.Snapshot] { return s.times }

// waitHistogram is a histogram of the runtime: counts[i] is the number of values from bounds[i] to
// bounds[i+1], in seconds. The bounds are shared and do not change.
type waitHistogram struct {
	counts []uint64
	bounds []float64
}

// readRuntime reads the histograms of the runtime; a missing one is empty.
func readRuntime() (waits, pauses waitHistogram) {
	samples := []metrics.Sample{{Name: schedulerMetric}, {Name: pausesMetric}}
	metrics.Read(samples)
	for i, into := range []*waitHistogram{&waits, &pauses} {
		if samples[i].Value.Kind() == metrics.KindFloat64Histogram {
			h := samples[i].Value.Float64Histogram()
			*into = waitHistogram{h.Counts, h.Buckets}
		}
	}
	return waits, pauses
}

// since returns what was added after an earlier reading. The width of a bucket is up to a quarter
// of its lower bound. Each bucket is represented by its lower bound, so that a figure above a
// threshold is certain to be above it.
func (h waitHistogram) since(before waitHistogram) histogram.Snapshot {
	return histogram.Counted(func(yield func(time.Duration, uint64) bool) {
		for i, n := range h.counts {
			if i < len(before.counts) {
				n -= before.counts[i]
			}
			if n > 0 && !yield(time.Duration(max(h.bounds[i], 0)*float64(time.Second)), n) {
				return
			}
		}
	})
}

// runtimeMemory returns how much memory the runtime has obtained from the system and not returned,
// in bytes.
func runtimeMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 || samples[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// givenUp returns how many changes to rows were given up.
func givenUp(sets []record.SetCounts) (n int64) {
	for i := range sets {
		n += sets[i].GivenUp
	}
	return n
}
