package listener

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/fetcher"
)

// recording is configured for a server that records, and has one of so many requests in
// its journal.
func recording(tb testing.TB, configuration string, sample int) *Server {
	tb.Helper()
	s := newServer(Options{Record: &RecordOptions{Journal: JournalOptions{Sample: sample}}})
	tb.Cleanup(func() { s.compiler.loader.Close(context.Background()) })
	if err := s.Apply(config.Parse("mock.yml", []byte(configuration))); err != nil {
		tb.Fatal(err)
	}
	return s
}

// A panic is a request to the endpoint that it was met in, answered 500.
func TestRecord_Panics(t *testing.T) {
	s := recording(t, "- endpoint: {path: /a, response: {external-body: {provider: json, path: \"/nowhere/{{query-params.q}}\"}}}\n- endpoint: {path: /b, response: {}}", 0)
	s.snapshot.Load().answers[0].source = &fetcher.Source{} // of no loader: asking it for a body panics
	for _, path := range []string{"/a?q=1", "/b"} {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(path)
		s.serve(&ctx)
	}
	s.snapshot.Store(&snapshot{}) // no table: it is not known which endpoint it would be
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	s.serve(&ctx)
	a, b, unmatched := s.recorder.order[0].read(), s.recorder.order[1].read(), s.recorder.unmatched.read()
	if a.Statuses[500] != 1 || a.Requests != 1 || b.Statuses[200] != 1 || unmatched.Statuses[500] != 1 {
		t.Errorf("got %v, %v, %v", a.Statuses, b.Statuses, unmatched.Statuses)
	}
	kept := s.recorder.journal.all()
	if len(kept) != 2 || kept[1].Code != "internal" || kept[1].Kept != Failed || kept[1].Endpoint != "GET /a" || kept[0].Kept != Unmatched {
		t.Errorf("the journal has %d: %+v", len(kept), kept)
	}
	for i := range s.recorder.lanes {
		if n := s.recorder.lanes[i].serving.Load(); n != 0 {
			t.Errorf("%d are being served", n)
		}
	}
}

// Endpoints that come and go leave what they counted, and nothing else.
func TestRecord_TheGoneAreAddedUp(t *testing.T) {
	s := recording(t, "[]", 0)
	const rounds = 200
	for i := range rounds {
		if err := s.Apply(config.Parse("m.yml", fmt.Appendf(nil, "- endpoint: {path: /p%d, response: {status: 201, body: abc}, latency: {failure-rate: 0}}", i))); err != nil {
			t.Fatal(err)
		}
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(fmt.Sprintf("/p%d", i))
		s.serve(&ctx)
	}
	gone := func() (total Counted, left int) {
		s.recorder.mu.Lock()
		defer s.recorder.mu.Unlock()
		total = s.recorder.gone.read()
		for _, shards := range s.recorder.retired {
			readShards(shards, &total)
		}
		return total, len(s.recorder.retired)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		total, left := gone()
		if total.Statuses[201] != rounds-1 || total.Out != 3*(rounds-1) || total.Service.Count != rounds-1 {
			t.Fatalf("with %d left, gone are %v, %d bytes, %d times", left, total.Statuses, total.Out, total.Service.Count)
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d are still kept apart", left, rounds)
		}
		runtime.GC()
	}
}

func TestRecord_ManyEndpointsHaveOneShardEach(t *testing.T) {
	s := newServer(Options{Record: &RecordOptions{}})
	defer s.compiler.loader.Close(context.Background())
	s.recorder.shards = maxShards
	for _, c := range []struct{ endpoints, shards int }{{10, maxShards}, {maxCounts / 2, 2}, {maxCounts + 1, 1}} {
		if err := s.Apply(config.Parse("m.yml", []byte(many(c.endpoints)))); err != nil {
			t.Fatal(err)
		}
		if got := len(s.recorder.order[c.endpoints-1].shards); got != c.shards {
			t.Errorf("%d endpoints: %d shards each, want %d", c.endpoints, got, c.shards)
		}
	}
}

// However many statuses an endpoint answers, each is counted.
func TestCounts_EveryStatus(t *testing.T) {
	var c counts
	for status := 100; status < 600; status++ {
		for n := range status % 7 {
			if got := c.answered(status, 1, 2); got != uint64(n+1) {
				t.Errorf("the answer %d of %d was told to be its %d.", n+1, status, got)
			}
		}
	}
	total := Counted{Statuses: map[int]uint64{}}
	c.read(&total)
	for status := 100; status < 600; status++ {
		if got := total.Statuses[status]; got != uint64(status%7) {
			t.Errorf("%d: %d, want %d", status, got, status%7)
		}
	}
	if total.In != total.Requests || total.Out != 2*total.Requests {
		t.Errorf("bytes: %d and %d of %d requests", total.In, total.Out, total.Requests)
	}
}

// A flood of different requests that nothing matches leaves the last of them.
func TestMisses_AreBounded(t *testing.T) {
	s := recording(t, "- endpoint: {path: /users/:id, response: {}}", 0)
	ask := func(path string) {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(path)
		s.serve(&ctx)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ask("/again")
	for i := range 5 * keptMisses {
		ask(fmt.Sprintf("/%d/%s", i, strings.Repeat("x", i)))
		if i%100 == 0 {
			ask("/again")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	all := s.Unmatched()
	if len(all) != keptMisses || s.recorder.misses.distinct() != 5*keptMisses+1 || s.recorder.unmatched.read().Requests != 5*keptMisses+51 {
		t.Errorf("%d are kept, of %d different ones", len(all), s.recorder.misses.distinct())
	}
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 4<<20+defaultJournalBytes {
		t.Errorf("they take %d bytes", took)
	}
	last := all[0]
	if !strings.HasPrefix(last.Path, fmt.Sprintf("/%d/", 5*keptMisses-1)) || len(last.Path) > keptMiss || last.Count != 1 ||
		last.Status != 404 || last.Code != "endpoint_not_found" || !strings.Contains(last.Reason, "no endpoint is declared for GET") {
		t.Errorf("the last is %+v", last)
	}
	for _, m := range all {
		if m.Path == "/again" && m.Count == 51 && m.First.Before(m.Last) {
			return
		}
	}
	t.Error("what comes again and again is not kept")
}

// What latency was declared to take comes out as it was declared, in the counts too.
func TestCounts_InjectedIsWhatIsDeclared(t *testing.T) {
	seed := uint64(1)
	s := newServer(Options{Record: &RecordOptions{}, Seed: &seed})
	defer s.compiler.loader.Close(context.Background())
	if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /a, response: {}, latency: {p50: 20ms, p90: 45ms, p99: 120ms, max: 1s}}"))); err != nil {
		t.Fatal(err)
	}
	for range 40_000 { // without a connection there is nothing to wait in
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI("/a")
		s.serve(&ctx)
	}
	c := s.recorder.order[0].read()
	for q, want := range map[float64]time.Duration{0.5: 20 * time.Millisecond, 0.9: 45 * time.Millisecond} {
		if got := c.Injected.Quantile(q); math.Abs(float64(got-want)) > 0.02*float64(want) {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if c.Injected.Count != 40_000 || c.InjectionError.Count != 40_000 || c.Service.Quantile(1) > 10*time.Millisecond {
		t.Errorf("%d injected, %d late, own %v", c.Injected.Count, c.InjectionError.Count, c.Service.Quantile(1))
	}
}

// An endpoint that has had nothing since it was read last is not read again; whatever
// is counted of one that has is told by the next reading.
func TestCounts_ReadAgainWhatHasChanged(t *testing.T) {
	s := recording(t, "- endpoint: {path: /a, response: {}}\n- endpoint: {path: /b, response: {}}", 0)
	a, b := s.recorder.order[0], s.recorder.order[1]
	for i, count := range []func(*counts){
		func(c *counts) { c.service.add(1); c.answered(200, 1, 2) },
		func(c *counts) { c.pauses().late.add(1); c.answered(200, 0, 0) },
		func(c *counts) {
			for status := range 400 {
				c.answered(100+status, 0, 0)
			}
		},
		func(c *counts) { c.faults[1].Add(1); c.limited.Add(1); c.answered(599, 0, 0) },
		func(c *counts) { c.heard.Add(1) },
		func(c *counts) { c.said.Add(1) },
	} {
		count(a.at(uint32(i)))
		if got, want := a.reread(), a.read(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %+v, want %+v", i, got, want)
		}
	}
	b.at(0).service.add(1)
	b.at(0).answered(200, 0, 0)
	b.reread()
	reading := testing.AllocsPerRun(10, func() { b.reread() })
	if reading > 0 {
		t.Errorf("reading what has not changed took %v allocations", reading)
	}
}

// What is counted while an endpoint is read is told by that reading or by the next, also
// when nothing follows it.
func TestCounts_NothingIsMissedThatCameWhileItWasRead(t *testing.T) {
	s := recording(t, "- endpoint: {path: /a, response: {}}", 0)
	a := s.recorder.order[0]
	for n := range 3000 {
		var all sync.WaitGroup
		for shard := range 2 {
			all.Go(func() {
				c := a.at(uint32(shard))
				c.service.add(time.Duration(n))
				c.answered(200, 1, 2)
			})
		}
		for range 3 {
			a.reread()
			runtime.Gosched()
		}
		all.Wait()
		if got, want := a.reread(), a.read(); got.Requests != want.Requests || got.In != want.In || got.Out != want.Out || got.Service.Count != want.Service.Count {
			t.Fatalf("round %d: got %d requests of %d and %d bytes, %d times; want %d, %d, %d, %d", n,
				got.Requests, got.In, got.Out, got.Service.Count, want.Requests, want.In, want.Out, want.Service.Count)
		}
	}
}
