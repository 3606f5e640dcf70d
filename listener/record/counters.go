package record

import (
	"sync/atomic"
	"time"

	"mockserver/config"
)

// Counters are the counters of one endpoint. The first request in a shard allocates it:
// half a KiB, and 1 KiB for each octave of its durations.
type Counters struct {
	identity
	key    string // ID; "" for counters that belong to no endpoint
	route  route  // for conditions
	shards []atomic.Pointer[Shard]
	since  time.Time

	latency *config.Latency // as declared now; Recorder.mu guards it

	// The last reading by Recorder.Counts; Recorder.mu guards it.
	last  EndpointCounts
	stamp uint64 // from before it
	known bool   // there is one
}

func newCounters(id identity, shards int) *Counters {
	t := &Counters{identity: id, shards: make([]atomic.Pointer[Shard], shards), since: time.Now()}
	if id.name != "" {
		t.key = id.id()
	}
	return t
}

// At returns a shard.
func (t *Counters) At(shard uint32) *Shard {
	p := &t.shards[shard&uint32(len(t.shards)-1)]
	c := p.Load()
	if c == nil {
		p.CompareAndSwap(nil, new(Shard))
		c = p.Load()
	}
	return c
}
