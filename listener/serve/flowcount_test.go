package serve

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/internal/histogram"
)

// inMS lists the durations of a distribution in milliseconds.
func inMS(l histogram.Snapshot) string {
	var all []string
	for d, n := range l.Cells() {
		for range n {
			all = append(all, fmt.Sprintf("%.0f", d.Seconds()*1000))
		}
	}
	return strings.Join(all, " ")
}

// Of a stream, its items and their times are counted: the first one by itself, later ones by the gap before them and
// by how late they are. What is sent together with another item, or without a pace, has no gap.
func TestFlow_Counts(t *testing.T) {
	for name, c := range map[string]struct {
		response                            string
		late                                []time.Duration
		items                               uint64
		first, gaps, late2, injected, late1 string
		stretch                             float64
	}{
		"at once":    {response: "{stream: [{times: 3, data: a}]}", items: 3, first: "0", late2: "0 0"},
		"with":       {response: "{stream: [{data: a}, {data: b, with: next}, {data: c}, {data: d, with: previous}, {data: e}], pace: {gap: 10ms}}", items: 5, first: "0", gaps: "10 10", late2: "0 0"},
		"first with": {response: "{stream: [{data: a, with: next}, {data: b}, {data: c}], pace: {first: 8ms, gap: 10ms}}", items: 3, first: "8", gaps: "10", late2: "0", injected: "8", late1: "0"},
		"late":       {response: "{stream: [{times: 5, data: a}], pace: {first: 8ms, gap: 10ms}}", late: []time.Duration{3e6, 25e6}, items: 5, first: "11", gaps: "0 0 5 32", late2: "0 5 15 25", injected: "8", late1: "3"},
		"head first": {response: "{stream: [{times: 2, data: a}], pace: {first: 50ms, gap: 10ms, head: at-once}}", late: []time.Duration{0, 4e6}, items: 2, first: "54", gaps: "6", late2: "0", injected: "50", late1: "4"},
		"no items":   {response: "{stream: [{times: 0, data: a}], pace: {first: 50ms}}", injected: "50", late1: "0"},
		"shared":     {response: "{stream: [{times: 3, data: a}], pace: {gap: 10ms, shared: 50/s}}", items: 3, first: "0", gaps: "20 20", late2: "0 0", stretch: 2},
		"slow":       {response: "{stream: [{times: 3, data: a}], pace: {gap: 10ms, shared: 50/s}}, fault: {type: slow-body, bytes-per-second: 300}", items: 3, first: "0", gaps: "30 30", late2: "0 0", stretch: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := recordingServer(t, "- endpoint: {path: /, response: "+c.response+"}", 0)
			sends(opened(t, s, "/"), time.Now(), c.late...)
			e := s.Recorder.Counts().Endpoints[0]
			got := fmt.Sprintf("%d items, first %s, gaps %s, late %s, %v; injected %s, late %s; %v, open %d", e.Items, inMS(e.First), inMS(e.Gap), inMS(e.GapError), e.Stretch(), inMS(e.Injected), inMS(e.InjectionError), e.Ends, e.Open())
			want := fmt.Sprintf("%d items, first %s, gaps %s, late %s, %v; injected %s, late %s; map[complete:1], open 0", c.items, c.first, c.gaps, c.late2, c.stretch, c.injected, c.late1)
			if got != want || e.Bytes != 9*c.items {
				t.Errorf("%s: got  %s\nwant %s", name, got, want)
			}
		})
	}
}

// A client that leaves before the first item has waited for only a part of the latency.
func TestFlow_CountsWhatWasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := recordingServer(t, "- endpoint: {path: /, response: {stream: [{data: a}], pace: {first: 50ms, head: at-once}}}", 0)
		f := opened(t, s, "/")
		f.step(nil, true)
		<-time.After(20 * time.Millisecond) // of the bubble
		f.finish(true)
		if e := s.Recorder.Counts().Endpoints[0]; inMS(e.Injected) != "20" || e.Statuses[200] != 1 {
			t.Errorf("injected %s, %v", inMS(e.Injected), e.Statuses)
		}
	})
}

// How late items are does not include the time in which the client did not read.
func TestFlow_CountsBlockedItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := recordingServer(t, "- endpoint: {path: /, response: {stream: [{times: 4, data: a}], pace: {gap: 10ms}}}", 0)
		f := opened(t, s, "/")
		step := func(at time.Duration, room bool) {
			<-time.After(time.Until(f.begun.Add(at))) // of the bubble
			f.hasRoom(room)
			f.step(nil, room)
		}
		step(0, true)
		step(13e6, false) // 3 ms late
		if e := s.Recorder.Counts().Endpoints[0]; e.Open() != 1 || e.Items != 1 {
			t.Errorf("while it is blocked: got %+v", e.StreamCounts)
		}
		step(21e6, false)
		step(25e6, true)
		step(31e6, true)
		f.finish(true)
		e := s.Recorder.Counts().Endpoints[0]
		if got, want := fmt.Sprintf("late %s, blocked %s, gaps %s, %v", inMS(e.GapError), inMS(e.Blocked), inMS(e.Gap), e.Ends), "late 0 1 3, blocked 5 12, gaps 0 6 25, map[complete:1]"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
