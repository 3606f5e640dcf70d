package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
)

// Late is which share of the requests to an endpoint were late. A request is late if any of its parts
// is above its threshold, so the share is at most the sum of the shares of the parts.
type Late struct {
	Endpoint string             `json:"endpoint" doc:"endpoint with the largest share; empty for all requests together"`
	Requests uint64             `json:"requests" doc:"its requests, or the messages of a WebSocket"`
	Share    float64            `json:"share" doc:"share of them that were late, at most: the sum of the parts"`
	Parts    map[string]float64 `json:"parts" doc:"share that each part made late, by the code of the part's threshold"`
	Replica  string             `json:"replica,omitempty" doc:"replica whose requests they are, in a run of a fleet"`
}

// lateness returns the endpoint with the largest share of late requests, and whether more than most
// were certainly late, by several parts. What the probe found late leaves less room for the other
// parts, of which more must be late than chance explains. The result is nil without requests.
func (s *Sample) lateness(thresholds Thresholds, most float64) (worst *Late, certain bool) {
	passing, proven, probed := 0.0, 0.0, map[string]float64{}
	for i := range checks {
		if c := &checks[i]; c.probed != nil { // a request passes once, over a kept connection or over a new one
			limit, _ := thresholds.of(c)
			l, of := c.probed(s)
			share, evidence := lateShare(l, limit)
			passing, proven = passing+of*max(share-passing, 0), proven+of*max(evidence-proven, 0)
			probed[c.code] = of * share
		}
	}
	for i := range s.timings {
		t := &s.timings[i]
		if t.requests == 0 {
			continue
		}
		late, parts := t.lateBy(thresholds)
		l := Late{Endpoint: t.name, Requests: t.requests}
		l.Share = min(passing+float64(late)/float64(l.Requests), 1)
		expected := max(most-proven, 0) * float64(l.Requests)
		// One slow request is chance, and may be late by each part.
		isCertain := float64(late) > expected+2*math.Sqrt(expected)+float64(len(parts)) && (proven > 0 || len(parts) > 1)
		if worst != nil && (certain && !isCertain || certain == isCertain && l.Share <= worst.Share) {
			continue
		}
		l.Parts = maps.Clone(probed)
		for code, n := range parts {
			l.Parts[code] = float64(n) / float64(l.Requests)
		}
		worst, certain = new(l), isCertain
	}
	return worst, certain
}

// lateBy returns how many requests were late by parts that are timed for each request, in total and by
// part.
func (t *timing) lateBy(thresholds Thresholds) (all uint64, parts map[string]uint64) {
	for i := range checks {
		c := &checks[i]
		if c.each == nil || c.items {
			continue
		}
		limit, _ := thresholds.of(c)
		if c.least != nil {
			limit = max(limit, c.least(t))
		}
		if n := c.each(t).Over(asDuration(limit)); n > 0 {
			if parts == nil {
				parts = map[string]uint64{}
			}
			all, parts[c.code] = all+n, n
		}
	}
	return all, parts
}

// text lists the parts.
func (l *Late) text() string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(l.Parts)) {
		if l.Parts[code] > 0 {
			parts = append(parts, code+" "+share.text(l.Parts[code], 3))
		}
	}
	return strings.Join(parts, ", ")
}

// lateShare returns which share of the figures of a probe are above a limit, and the share that is
// evidence: 0 unless the figures would be a reason if there were few of them. One or two late figures
// among a few say nothing.
func lateShare(l histogram.Snapshot, limit float64) (share, proven float64) {
	late := l.Over(asDuration(limit))
	if late == 0 || late < 3 && l.Count < 100 {
		return 0, 0
	}
	share = float64(late) / float64(l.Count)
	if late >= 3 && l.Count >= 100 && l.Above(asDuration(limit)) >= provenLate {
		proven = share
	}
	return share, proven
}

func asDuration(ms float64) time.Duration {
	return time.Duration(min(ms*float64(time.Millisecond), math.MaxInt64/2))
}

// The 1 % of the requests that may be later than the size is divided among the parts in steps.
const sizeSteps = 20

// levels contains a time for each share of requests that may exceed it, in milliseconds: the i-th for
// i steps. Times get shorter from one to the next.
type levels [sizeSteps + 1]float64

// levelsIn returns the levels of what was measured for each of n requests, or for fewer of them if
// the others did not have to wait.
func levelsIn(l histogram.Snapshot, n uint64) (all levels) {
	l = l.OutOf(n)
	for i := range all {
		all[i] = Milliseconds(l.Quantile(1 - 0.01*float64(i)/sizeSteps))
	}
	return all
}

// with returns the levels of two parts together, as a bound that holds however they depend on each
// other: for each way to divide a share between them, join of both times is one.
func (a *levels) with(b *levels, join func(x, y float64) float64) (all levels) {
	for i := range all {
		all[i] = math.Inf(1)
		for k := range i + 1 {
			all[i] = min(all[i], join(a[k], b[i-k]))
		}
	}
	return all
}

// levels returns what the server added to the responses of an endpoint after it had read the requests.
// Every request was measured, so this is exact.
func (t *timing) levels() levels {
	late, all := levelsIn(t.late, t.requests), levelsIn(t.own, t.requests)
	for _, part := range [...]histogram.Snapshot{t.upstream, t.place} {
		one := levelsIn(part, t.requests)
		all = all.with(&one, func(x, y float64) float64 { return x + y })
	}
	return all.with(&late, func(x, y float64) float64 { return max(x, y) })
}

// size returns how much the server added to the responses of the endpoint to which it added most, in
// words and as a figure; blamed is the time that the probe is a reason with, or 0. The figure is a
// bound of the 99th percentile of the sum of all parts, with the interval of what the probe measured.
func (s *Sample) size(blamed float64) (text string, added *statistics.Figure) {
	var t *timing
	for i := range s.timings {
		if other := &s.timings[i]; other.name != "" && (other.requests > 0 || other.items.Count == 0) && (t == nil || other.added() > t.added()) {
			t = other
		}
	}
	if t == nil {
		return "", nil
	}
	own, sum, estimate := t.levels(), statistics.Figure{Samples: s.times.Probe.Count}, math.Inf(1)
	if l, of := echoes(s); l.Count > 2 && of > 0.01 { // new connections add time whether or not they are a reason
		blamed = max(blamed, Milliseconds(l.Quantile(min(1-0.01/of, 1-2.5/float64(l.Count)))))
	}
	for i := range own {
		q, rest := 1-0.01*float64(i)/sizeSteps, own[sizeSteps-i]
		estimate = min(estimate, max(Milliseconds(s.times.Probe.Quantile(q)), blamed)+rest)
		f := statistics.Percentile(s.times.Probe, q, s.dependence)
		if f.Value != nil && (sum.High == nil || max(*f.High, blamed)+rest < *sum.High) {
			sum.Value, sum.Low, sum.High = new(max(*f.Value, blamed)+rest), new(max(*f.Low, blamed)+rest), new(max(*f.High, blamed)+rest)
		}
	}
	about, of := "about", "responses"
	if sum.High != nil {
		about, estimate = "at most", *sum.High
	}
	if t.requests > 2*max(t.total.Count, t.own.Count) { // of a WebSocket
		of = "messages"
	}
	text = fmt.Sprintf("The server added %s %s ms to 99 of 100 %s of %s", about, Short(estimate), of, t.name)
	if total := Milliseconds(t.total.Quantile(0.99)); total > estimate {
		text += fmt.Sprintf(", %s %% of their 99th percentile", Short(100*estimate/total))
	}
	return text + ".", &sum
}
