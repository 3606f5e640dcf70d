package record

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
)

// Endpoints that are added and removed leave only their counts behind.
func TestRecord_TheGoneAreAddedUp(t *testing.T) {
	r := withLanes(2)
	const rounds = 200
	for i := range rounds {
		all := r.Adopt(config.Parse("m.yml", fmt.Appendf(nil, "- endpoint: {path: /p%d, response: {}}", i)))[0]
		if i%2 == 0 { // give some of them a row in the lanes
			spreadTwice(r, all.places)
		}
		c := all.At(uint32(i))
		c.service.Add(time.Microsecond)
		c.countReply(201, 0, 3)
		s := all.Stream(uint32(i))
		s.Open()
		s.Add(&Item{Bytes: 2, First: -1, Gap: time.Second, Late: -1})
		s.End(EndComplete)
	}
	gone := func() (total EndpointCounts, left int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		total = r.gone.read()
		for p := range r.retired {
			p.read(&total)
		}
		return total, len(r.retired)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		total, left := gone()
		if total.Statuses[201] != rounds-1 || total.Out != 3*(rounds-1) || total.Service.Count != rounds-1 ||
			total.Opened != rounds-1 || total.Open() != 0 || total.Bytes != 2*(rounds-1) || total.Gap.Count != rounds-1 {
			t.Fatalf("with %d left, the removed endpoints have %v, %d bytes, %d times, %+v", left, total.Statuses, total.Out, total.Service.Count, total.StreamCounts)
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d are still counted separately", left, rounds)
		}
		runtime.GC()
	}
}

// spreadTwice does what only the first of two calls should do.
func spreadTwice(r *Recorder, p *places) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spread(p)
	r.spread(p)
}

// withLanes returns a recorder with a number of lanes, on any machine.
func withLanes(n int) *Recorder {
	r := New(Options{})
	r.lanes = make([]lane, n)
	return r
}

// ask counts requests to an endpoint, on each of the connections in turn.
func ask(r *Recorder, t *Counters, connections, requests int) {
	for i := range requests {
		r.CountFixed(t, uint32(i%connections), 200, 1, time.Microsecond)
	}
}

// endpoints makes the recorder serve n endpoints below a path.
func endpoints(r *Recorder, path string, n int) []*Counters {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "- endpoint: {path: %s/%d, response: {}}\n", path, i)
	}
	return r.Adopt(config.Parse("m.yml", []byte(text.String())))
}

// However many endpoints and CPUs there are, endpoints with many requests are counted separately in
// each lane, and their counts stay exact.
func TestRecord_ConnectionsDoNotMeetAtABusyEndpoint(t *testing.T) {
	for _, c := range []struct{ endpoints, lanes int }{{1, 2}, {1, 64}, {2000, 2}, {2000, 64}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // all requests are in one second
				r := withLanes(c.lanes)
				all := endpoints(r, "/p", c.endpoints)
				busy, calm := all[c.endpoints-1], r.unmatched
				ask(r, calm, c.lanes, stride)
				ask(r, busy, c.lanes, 2*stride)
				shards := map[*Shard]bool{}
				for i := range c.lanes {
					shards[busy.At(uint32(i))] = true
				}
				if len(shards) != c.lanes || calm.At(0) != calm.At(1) {
					t.Errorf("%d connections are counted in %d shards; those of a quiet endpoint separately: %t", c.lanes, len(shards), calm.At(0) != calm.At(1))
				}
				ask(r, busy, c.lanes, 1000)
				if got := r.Counts().Endpoints[c.endpoints-1]; got.Requests != 2*stride+1000 || got.Out != got.Requests || got.Service.Count != got.Requests {
					t.Errorf("got %d requests, %d bytes, %d times", got.Requests, got.Out, got.Service.Count)
				}
			})
		})
	}
}

// Many requests spread over a long time take no more memory than a few requests.
func TestRecord_RequestsThatSeldomMeetShareTheirCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withLanes(2)
		seldom := endpoints(r, "/p", 1)[0]
		for range 10 {
			ask(r, seldom, 2, stride)
			<-time.After(2 * time.Second)
		}
		if seldom.At(0) != seldom.At(1) {
			t.Error("two connections are counted separately")
		}
	})
}

// However many endpoints are busy, only a limited number is counted separately, and removed
// endpoints make room for new ones.
func TestRecord_TheMemoryOfBusyEndpointsIsBounded(t *testing.T) {
	r := withLanes(2)
	apart := func(all []*Counters) (n int) {
		for _, c := range all {
			spreadTwice(r, c.places)
			if c.At(0) != c.At(1) {
				n++
			}
		}
		return n
	}
	if got := apart(endpoints(r, "/p", maxRows+10)); got != maxRows {
		t.Errorf("%d endpoints are counted separately, want %d", got, maxRows)
	}
	deadline := time.Now().Add(20 * time.Second)
	for apart(endpoints(r, "/q", maxRows)) < maxRows {
		if time.Now().After(deadline) {
			t.Fatal("the space of removed endpoints is not reused")
		}
		runtime.GC()
	}
}

// However many different statuses an endpoint answers, each is counted.
func TestCounts_EveryStatus(t *testing.T) {
	var c Shard
	for status := 100; status < 600; status++ {
		for n := range status % 7 {
			if got := c.countReply(status, 1, 2); got != uint64(n+1) {
				t.Errorf("the answer number %d with status %d was counted as number %d", n+1, status, got)
			}
		}
	}
	total := EndpointCounts{Statuses: map[int]uint64{}}
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

// An endpoint without requests since it was last read is not read again; whatever is counted for
// any other endpoint appears in the next reading.
func TestCounts_ReadAgainWhatHasChanged(t *testing.T) {
	a, b := newCounters(identity{name: "GET /a"}, make([]lane, 4)), newCounters(identity{name: "GET /b"}, make([]lane, 4))
	for i, count := range []func(*Shard){
		func(c *Shard) { c.service.Add(1); c.countReply(200, 1, 2) },
		func(c *Shard) { c.pauses()[waitLate].Add(1); c.countReply(200, 0, 0) },
		func(c *Shard) {
			for status := range 400 {
				c.countReply(100+status, 0, 0)
			}
		},
		func(c *Shard) { c.faults[1].Add(1); c.limited.Add(1); c.countReply(599, 0, 0) },
		func(c *Shard) { c.received.Add(1) },
		func(c *Shard) { c.sent.Add(1) },
		func(c *Shard) { c.stream().Open() },
		func(c *Shard) { c.stream().Add(&Item{Bytes: 3, First: 4, Gap: -1, Late: -1}) },
		func(c *Shard) { c.stream().End(EndFault) },
	} {
		count(a.At(uint32(i)))
		if got, want := a.reread(), a.read(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %+v, want %+v", i, got, want)
		}
	}
	b.At(0).service.Add(1)
	b.At(0).countReply(200, 0, 0)
	b.reread()
	reading := testing.AllocsPerRun(10, func() { b.reread() })
	if reading > 0 {
		t.Errorf("reading unchanged counters took %v allocations", reading)
	}
}

// A request that is counted while its endpoint is read appears in that reading or the next one,
// even if no other request follows.
func TestCounts_NothingIsMissedThatCameWhileItWasRead(t *testing.T) {
	a := newCounters(identity{name: "GET /a"}, make([]lane, 4))
	for n := range 3000 {
		var all sync.WaitGroup
		for shard := range 2 {
			all.Go(func() {
				c := a.At(uint32(shard))
				c.service.Add(time.Duration(n))
				c.countReply(200, 1, 2)
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
