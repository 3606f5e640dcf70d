package verdict

import (
	"cmp"
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

	passed float64 // the share of Share that is a reason by the probe
	late   uint64  // how many requests another part made late
}

// certain reports whether more than the share most was certainly late, by several parts. What the probe
// found late leaves less room for the others, of which more must be late than chance explains.
func (l *Late) certain(most float64) bool {
	parts := 0
	for _, share := range l.Parts {
		if share > 0 {
			parts++
		}
	}
	expected := max(most-l.passed, 0) * float64(l.Requests)
	return parts > 1 && float64(l.late) > expected+2*math.Sqrt(expected)+1
}

// lateness returns the endpoint with the largest share of late requests, and the one for which more
// than most were certainly late; each is nil if there is none.
func (s *Sample) lateness(thresholds Thresholds, most float64) (worst, certain *Late) {
	var parts []*check
	limits := map[*check]float64{}
	passing := Late{Parts: map[string]float64{}}
	for i := range checks {
		c := &checks[i]
		limit, _ := thresholds.of(c)
		switch {
		case math.IsInf(limit, 1):
		case c.each != nil:
			parts, limits[c] = append(parts, c), limit
		case c.probed != nil: // a request passes once, over a kept connection or over a new one
			share, proven := lateShare(c.probed(s), limit)
			passing.Parts[c.code] = share
			passing.Share, passing.passed = max(passing.Share, share), max(passing.passed, proven)
		}
	}
	for i := range s.timings {
		t := &s.timings[i]
		l := Late{Endpoint: t.name, Requests: max(t.requests, 1), Share: passing.Share, passed: passing.passed}
		for _, c := range parts {
			l.late += c.late(t, limits[c])
		}
		l.Share += float64(l.late) / float64(l.Requests)
		if worst != nil && l.Share <= worst.Share && (certain != nil && l.Share <= certain.Share || l.late <= 1) {
			continue
		}
		l.Parts = maps.Clone(passing.Parts)
		for _, c := range parts {
			l.Parts[c.code] = float64(c.late(t, limits[c])) / float64(l.Requests)
		}
		if worst == nil || l.Share > worst.Share {
			worst = &l
		}
		if l.certain(most) && (certain == nil || l.Share > certain.Share) {
			certain = &l
		}
	}
	return worst, certain
}

// late returns how many requests to an endpoint were late by the part that the check is about. If all
// of them have a latency, the other parts are over before it is, or make the response late.
func (c *check) late(t *timing, limit float64) uint64 {
	if c.least != nil {
		limit = max(limit, c.least(t))
	} else if t.isTimed() {
		return 0
	}
	return c.each(t).Over(asDuration(limit))
}

// text lists the parts, the largest first.
func (l *Late) text() string {
	codes := slices.SortedFunc(func(yield func(string) bool) {
		for code, share := range l.Parts {
			if share > 0 && !yield(code) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Or(cmp.Compare(l.Parts[b], l.Parts[a]), cmp.Compare(a, b)) })
	for i, code := range codes {
		codes[i] = code + " " + share.text(l.Parts[code], 3)
	}
	return strings.Join(codes, ", ")
}

// lateShare returns which share of the figures of a probe are above a limit, and the share that is
// evidence: 0 unless the figures would be a reason if there were few of them.
func lateShare(l histogram.Snapshot, limit float64) (share, proven float64) {
	late := l.Over(asDuration(limit))
	if late == 0 {
		return 0, 0
	}
	share = float64(late) / float64(l.Count)
	if late >= 3 && l.Count >= 100 && l.Above(asDuration(limit)) >= provenLate {
		proven = share
	}
	return share, proven
}

func asDuration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// The 1 % of the requests that may be later than the size is divided among the parts in steps.
const sizeSteps = 20

// levels contains a time for each share of requests that may exceed it, in milliseconds: the i-th for
// i steps. Times get shorter from one to the next.
type levels [sizeSteps + 1]float64

func levelsOf(at func(q float64) float64) (all levels) {
	for i := range all {
		all[i] = at(1 - 0.01*float64(i)/sizeSteps)
	}
	return all
}

// levelsIn returns the levels of what was measured for each of n requests, or for fewer of them if
// the others did not have to wait.
func levelsIn(l histogram.Snapshot, n uint64) levels {
	l = l.OutOf(n)
	return levelsOf(func(q float64) float64 { return Milliseconds(l.Quantile(q)) })
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
// Every request was measured, so this is exact. For responses with a latency, the server does its own
// work during the latency.
func (t *timing) levels() levels {
	late := levelsIn(t.late, t.requests)
	if t.isTimed() {
		return late
	}
	all := levelsIn(t.own, t.requests)
	for _, part := range [...]histogram.Snapshot{t.upstream, t.place} {
		if part.Count > 0 {
			one := levelsIn(part, t.requests)
			all = all.with(&one, func(x, y float64) float64 { return x + y })
		}
	}
	return all.with(&late, func(x, y float64) float64 { return max(x, y) })
}

// size returns how much the server added to the responses of the endpoint to which it added most, in
// words and as a figure; blamed is the time that the probe is a reason with, or 0. The figure is a
// bound of the 99th percentile of the sum of all parts, with the interval of what the probe measured.
func (s *Sample) size(blamed float64) (text string, added *statistics.Figure) {
	t := s.slowest()
	if t == nil {
		return "", nil
	}
	beats, own := s.times.Probe, t.levels()
	var low, high levels
	value := levelsOf(func(q float64) float64 { return max(Milliseconds(beats.Quantile(q)), blamed) })
	for i := range high {
		f := statistics.Percentile(beats, 1-0.01*float64(i)/sizeSteps, s.dependence)
		if low[i], high[i] = 0, math.Inf(1); f.Value != nil {
			low[i], high[i] = max(*f.Low, blamed), max(*f.High, blamed)
		}
	}
	best := func(of *levels) (at int) {
		for i := range of {
			if of[i]+own[sizeSteps-i] < of[at]+own[sizeSteps-at] {
				at = i
			}
		}
		return at
	}
	f := statistics.Figure{Samples: beats.Count}
	at := best(&high)
	sum, about := high[at]+own[sizeSteps-at], "at most"
	if !math.IsInf(sum, 1) {
		f.Value, f.Low, f.High = new(value[at]+own[sizeSteps-at]), new(low[at]+own[sizeSteps-at]), &sum
	} else {
		at = best(&value)
		sum, about = value[at]+own[sizeSteps-at], "about"
	}
	of := "responses"
	if t.total.Count == 0 && t.own.Count == 0 {
		of = "messages"
	}
	text = fmt.Sprintf("The server added %s %s ms to 99 of 100 %s of %s", about, Short(sum), of, t.name)
	if total := Milliseconds(t.total.Quantile(0.99)); total > sum {
		text += fmt.Sprintf(", %s %% of their 99th percentile", Short(100*sum/total))
	}
	return text + ".", &f
}

// slowest returns the timing of the endpoint to which the server added most; nil if there is none.
func (s *Sample) slowest() (most *timing) {
	for i := range s.timings {
		if t := &s.timings[i]; t.name != "" && (most == nil || t.added() > most.added()) {
			most = t
		}
	}
	return most
}
