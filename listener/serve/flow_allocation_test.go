//go:build !race

package serve

import (
	"testing"
	"time"
)

// Items of a stream allocate nothing, whatever they read.
func TestAllocations_OfStreams(t *testing.T) {
	s := recordingServer(t, `
- endpoint:
    path: /:id
    response:
      stream: [{times: forever, event: e, data: {n: "{{loop.index}}", id: "{{path-params.id}}"}}]
      pace: {gap: {max: 1us}, shared: 1000000/s}
      heartbeat: 1h`, 0)
	f := opened(t, s, "/a")
	f.coded = true
	b, _ := f.step(nil, true)
	if got := testing.AllocsPerRun(1000, func() {
		f.due = f.due.Add(-time.Second) // at least one is due
		b, _ = f.step(b[:0], true)
	}); got != 0 {
		t.Errorf("got %v allocations", got)
	}
	if e := s.Recorder.Counts().Endpoints[0]; f.sent.Items < 1000 || e.GapError.Count != uint64(f.sent.Items)-1 {
		t.Errorf("got %d items", f.sent.Items)
	}
}
