package record

import (
	"sync/atomic"
	"time"

	"mockserver/config"
)

// Counters are the counters of one endpoint. All connections share them until the endpoint has many
// requests; then each lane has its own. The first request in a shard allocates it: half a KiB, and
// 1 KiB for each octave of its durations.
type Counters struct {
	places *places
	identity
	key   string // ID; "" for counters that belong to no endpoint
	route route  // for conditions
	since time.Time

	declared *config.Endpoint // its current declaration; nil for a WebSocket; Recorder.mu guards it

	// The last reading by Recorder.Counts; Recorder.mu guards it.
	last  EndpointCounts
	stamp uint64 // the stamp before that reading
	known bool   // there was a reading
}

// places holds the shards in which an endpoint is counted. It is separate from Counters, which the
// garbage collector finds unused before everything is added up: see Recorder.fold.
type places struct {
	lanes  []lane // of the recorder
	common atomic.Pointer[Shard]
	row    atomic.Uint32 // the row of the lanes that the endpoint is now counted in; 0 for none
	marked atomic.Int64  // when the last stride of requests was complete, since the recorder began
}

func newCounters(id identity, lanes []lane) *Counters {
	t := &Counters{places: &places{lanes: lanes}, identity: id, since: time.Now()}
	if id.name != "" {
		t.key = id.id()
	}
	return t
}

// At returns the shard that the requests of a connection are counted in.
func (t *Counters) At(shard uint32) *Shard {
	at := &t.places.common
	if row := t.places.row.Load(); row > 0 {
		at = &laneOf(t.places.lanes, shard).rows[row-1]
	}
	c := at.Load()
	if c == nil {
		at.CompareAndSwap(nil, new(Shard))
		c = at.Load()
	}
	return c
}

// each calls do for every allocated shard.
func (p *places) each(do func(*Shard)) {
	if c := p.common.Load(); c != nil {
		do(c)
	}
	if row := p.row.Load(); row > 0 {
		for i := range p.lanes {
			if c := p.lanes[i].rows[row-1].Load(); c != nil {
				do(c)
			}
		}
	}
}
