package record

import (
	"sync/atomic"
	"time"
)

// Counters are what is counted of one endpoint. Room for a shard is made by its first
// request: half a KiB, and 1 KiB for each octave of its lengths of time.
type Counters struct {
	identity
	key    string // its id; "" for none of an endpoint
	route  *route // for conditions; nil for none. What keeps it keeps no counters
	shards []atomic.Pointer[Shard]
	since  time.Time

	// What was read of it last, by Counts, which recorder.mu guards.
	last  EndpointCounts
	stamp uint64 // of before that
	known bool   // it was read
}

func newCounters(id identity, shards int) *Counters {
	t := &Counters{identity: id, shards: make([]atomic.Pointer[Shard], shards), since: time.Now()}
	if id.name != "" {
		t.key = id.id()
	}
	return t
}

// At is the counters of a shard.
func (t *Counters) At(shard uint32) *Shard {
	p := &t.shards[shard&uint32(len(t.shards)-1)]
	c := p.Load()
	if c == nil {
		p.CompareAndSwap(nil, new(Shard))
		c = p.Load()
	}
	return c
}
