package serve

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/fetcher"
	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// A request that panics counts as a request to its endpoint, answered with 500.
func TestRecord_Panics(t *testing.T) {
	s := recordingServer(t, "- endpoint: {path: /a, response: {external-body: {provider: json, path: \"/nowhere/{{query-params.q}}\"}}}\n- endpoint: {path: /b, response: {}}", 0)
	s.snapshot.Load().Responses[0].Source = &fetcher.Source{} // it has no loader: asking it for a body panics
	for _, path := range []string{"/a?q=1", "/b"} {
		var ctx wire.Exchange
		ctx.Request.SetRequestURI(path)
		_ = s.Serve(&ctx)
	}
	s.snapshot.Store(&world{Snapshot: &compile.Snapshot{}}) // there is no table, so the endpoint is not known
	var ctx wire.Exchange
	_ = s.Serve(&ctx)
	counts := s.Recorder.Counts()
	a, b, unmatched := counts.Endpoints[0], counts.Endpoints[1], counts.Unmatched
	if a.Statuses[500] != 1 || a.Requests != 1 || b.Statuses[200] != 1 || unmatched.Statuses[500] != 1 {
		t.Errorf("got %v, %v, %v", a.Statuses, b.Statuses, unmatched.Statuses)
	}
	kept := slices.DeleteFunc(s.Recorder.Journal().All(), func(x *record.Exchange) bool { return x.Kept == record.Slow }) // the request to /b
	if len(kept) != 2 || kept[1].Code != "internal" || kept[1].Kept != record.Failed || kept[1].Endpoint != "GET /a" || kept[0].Kept != record.Unmatched {
		t.Errorf("the journal has %d: %+v", len(kept), kept)
	}
	if counts.InFlight != 0 {
		t.Errorf("%d requests are being served", counts.InFlight)
	}
}

// The counts contain the declared latency, not the time that a request has actually waited.
func TestCounts_InjectedIsWhatIsDeclared(t *testing.T) {
	seed := uint64(1)
	s := newServer(t, compile.Options{Seed: &seed})
	s.Recorder = record.New(record.Options{})
	if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /a, response: {}, latency: {p50: 20ms, p90: 45ms, p99: 120ms, max: 1s}}"))); err != nil {
		t.Fatal(err)
	}
	for range 40_000 { // without a connection, no request actually waits
		var ctx wire.Exchange
		ctx.Request.SetRequestURI("/a")
		_ = s.Serve(&ctx)
	}
	c := s.Recorder.Counts().Endpoints[0]
	for q, want := range map[float64]time.Duration{0.5: 20 * time.Millisecond, 0.9: 45 * time.Millisecond} {
		if got := c.Injected.Quantile(q); math.Abs(float64(got-want)) > 0.02*float64(want) {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if c.Injected.Count != 40_000 || c.InjectionError.Count != 40_000 || c.Service.Quantile(0.5) > 10*time.Millisecond {
		t.Errorf("%d injected, %d late, own %v", c.Injected.Count, c.InjectionError.Count, c.Service.Quantile(0.5))
	}
}

// After a flood of distinct unmatched requests, only the latest are kept.
func TestMisses_AreBounded(t *testing.T) {
	s := recordingServer(t, "- endpoint: {path: /users/:id, response: {}}", 0)
	ask := func(path string) {
		var ctx wire.Exchange
		ctx.Request.SetRequestURI(path)
		_ = s.Serve(&ctx)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ask("/again")
	for i := range 5 * 1000 {
		ask(fmt.Sprintf("/%d/%s", i, strings.Repeat("x", i)))
		if i%100 == 0 {
			ask("/again")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	all := s.Recorder.Misses().All()
	if len(all) != 1000 || s.Recorder.Counts().Distinct != 5*1000+1 || s.Recorder.Counts().Unmatched.Requests != 5*1000+51 {
		t.Errorf("%d requests are kept, of %d different ones", len(all), s.Recorder.Counts().Distinct)
	}
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 4<<20+16<<20 {
		t.Errorf("the requests take %d bytes", took)
	}
	last := all[0]
	if !strings.HasPrefix(last.Path, fmt.Sprintf("/%d/", 5*1000-1)) || len(last.Path) > 512 || last.Count != 1 ||
		last.Status != 404 || last.Code != "endpoint_not_found" || !strings.Contains(last.Reason, "no endpoint is declared for GET") {
		t.Errorf("the last is %+v", last)
	}
	for _, m := range all {
		if m.Path == "/again" && m.Count == 51 && m.First.Before(m.Last) {
			return
		}
	}
	t.Error("a frequent request is not kept")
}
