package record

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
)

// Endpoints that come and go leave what they counted, and nothing else.
func TestRecord_TheGoneAreAddedUp(t *testing.T) {
	r := New(Options{})
	const rounds = 200
	for i := range rounds {
		c := r.Adopt(config.Parse("m.yml", fmt.Appendf(nil, "- endpoint: {path: /p%d, response: {}}", i)))[0].At(0)
		c.service.Add(time.Microsecond)
		c.answered(201, 0, 3)
	}
	gone := func() (total EndpointCounts, left int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		total = r.gone.read()
		for _, shards := range r.retired {
			readShards(shards, &total)
		}
		return total, len(r.retired)
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
	r := New(Options{})
	r.shards = maxShards
	for _, c := range []struct{ endpoints, shards int }{{10, maxShards}, {maxCounts / 2, 2}, {maxCounts + 1, 1}} {
		var text strings.Builder
		for i := range c.endpoints {
			fmt.Fprintf(&text, "- endpoint: {path: /%d, response: {}}\n", i)
		}
		all := r.Adopt(config.Parse("m.yml", []byte(text.String())))
		if got := len(all[c.endpoints-1].shards); got != c.shards {
			t.Errorf("%d endpoints: %d shards each, want %d", c.endpoints, got, c.shards)
		}
	}
}

// However many statuses an endpoint answers, each is counted.
func TestCounts_EveryStatus(t *testing.T) {
	var c Shard
	for status := 100; status < 600; status++ {
		for n := range status % 7 {
			if got := c.answered(status, 1, 2); got != uint64(n+1) {
				t.Errorf("the answer %d of %d was told to be its %d.", n+1, status, got)
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

// An endpoint that has had nothing since it was read last is not read again; whatever
// is counted of one that has is told by the next reading.
func TestCounts_ReadAgainWhatHasChanged(t *testing.T) {
	a, b := newCounters(identity{name: "GET /a"}, 4), newCounters(identity{name: "GET /b"}, 4)
	for i, count := range []func(*Shard){
		func(c *Shard) { c.service.Add(1); c.answered(200, 1, 2) },
		func(c *Shard) { c.pauses().late.Add(1); c.answered(200, 0, 0) },
		func(c *Shard) {
			for status := range 400 {
				c.answered(100+status, 0, 0)
			}
		},
		func(c *Shard) { c.faults[1].Add(1); c.limited.Add(1); c.answered(599, 0, 0) },
		func(c *Shard) { c.heard.Add(1) },
		func(c *Shard) { c.said.Add(1) },
	} {
		count(a.At(uint32(i)))
		if got, want := a.reread(), a.read(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %+v, want %+v", i, got, want)
		}
	}
	b.At(0).service.Add(1)
	b.At(0).answered(200, 0, 0)
	b.reread()
	reading := testing.AllocsPerRun(10, func() { b.reread() })
	if reading > 0 {
		t.Errorf("reading what has not changed took %v allocations", reading)
	}
}

// What is counted while an endpoint is read is told by that reading or by the next, also
// when nothing follows it.
func TestCounts_NothingIsMissedThatCameWhileItWasRead(t *testing.T) {
	a := newCounters(identity{name: "GET /a"}, 4)
	for n := range 3000 {
		var all sync.WaitGroup
		for shard := range 2 {
			all.Go(func() {
				c := a.At(uint32(shard))
				c.service.Add(time.Duration(n))
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
