package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/probe"
	"mockserver/listener/observe/record"
)

// A stop is the load generator's unless the server stood still, or the load generator may have waited
// for its responses.
func TestStops_AreThoseOfTheLoadGenerator(t *testing.T) {
	const ms = time.Millisecond
	many := func(d time.Duration, n int) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }
	for name, c := range map[string]struct {
		stops, beats, idle []time.Duration
		openers, want      uint64
		before, overdue    time.Duration // how late the probe was in the sample before, and how late a beat is now
	}{
		"connections were idle":        {stops: many(84*ms, 3), beats: many(ms, 60), idle: append(many(10*ms, 500), many(90*ms, 3)...), want: 3},
		"new connections":              {stops: many(84*ms, 3), beats: many(ms, 60), openers: 3, want: 3},
		"connections were new before":  {stops: many(43*ms, 1), beats: many(ms, 60), idle: many(ms, 160), openers: 4},
		"the probe was late":           {stops: many(84*ms, 3), beats: append(many(ms, 60), 22*ms), idle: many(90*ms, 3)},
		"late while it was read":       {stops: many(84*ms, 3), beats: many(ms, 60), idle: many(90*ms, 3), before: 22 * ms},
		"a beat has not run yet":       {stops: many(84*ms, 3), beats: many(ms, 60), idle: many(90*ms, 3), overdue: 22 * ms},
		"late by less than the long":   {stops: []time.Duration{50 * ms, 200 * ms}, beats: []time.Duration{20 * ms}, idle: many(300*ms, 3), want: 1},
		"waiting for delayed replies":  {stops: many(100*ms, 9), beats: many(ms, 60), idle: many(ms, 500)},
		"one connection waited for it": {stops: many(100*ms, 2), beats: many(ms, 60), idle: append(many(ms, 500), 100*ms)},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(f arrivals.Figures, beats histogram.Snapshot) *Reading {
				return &Reading{Counts: record.Counts{Arrivals: f}, Probe: probe.Figures{Serving: probe.Lateness{Beats: beats}}}
			}
			before := at(arrivals.Figures{}, histogram.Snapshot{})
			before.Stops, before.late = harness.Histogram(60*ms), c.before
			after := at(arrivals.Figures{
				First: c.openers, Idle: harness.Histogram(c.idle...), Distributions: arrivals.Distributions{Stops: harness.Histogram(c.stops...)},
			}, harness.Histogram(c.beats...))
			after.Probe.Overdue = c.overdue
			after.Stops = stopsOf(before, after)
			if got := arrivedBetween(before, after).Stops; got != c.want {
				t.Errorf("%d stops, want %d", got, c.want)
			}
		})
	}
}

func TestStops_ExplainAndNeverDecide(t *testing.T) {
	s := busySample()
	s.Stops, s.LongestStop = 12, 84
	v := judged(&s, Thresholds{"generator": 5})
	const want = "arrivals stopped 12 times, for up to 84 ms, while the probe was on time: the load generator paused, not the server"
	if !v.Trusted || len(v.Explanations) != 1 || v.Explanations[0].Text != want {
		t.Errorf("%+v, want %q", v, want)
	}
	if v := judged(&s, Thresholds{"generator": 12}); len(v.Explanations) > 0 {
		t.Errorf("%+v, want no explanation", v)
	}
	s = busySample()
	s.Arrivals, s.ArrivalRate, s.Openers = 500, 500, 500
	if v := judged(&s, nil); len(v.Explanations) > 0 {
		t.Errorf("at 500 a second: %+v", v)
	}
	s.ArrivalRate = 501
	if v := judged(&s, nil); !v.Trusted || len(v.Explanations) != 1 || !strings.HasPrefix(v.Explanations[0].Text, "100 % of the requests were the first") {
		t.Errorf("above 500 a second: %+v", v)
	}
}
