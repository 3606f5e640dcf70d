package record

import (
	"sync/atomic"
	"time"

	"mockserver/config/item"
)

// Counters holds the counters of one endpoint. All connections share them until the endpoint has
// many requests; then each lane has its own. The first request in a shard allocates the shard: half
// a KiB, plus 1 KiB for each octave of its durations.
type Counters struct {
	places *places
	identity
	key   string // ID; "" for counters that belong to no endpoint
	shown string // the condition, without secrets
	route route  // used for conditions
	since time.Time
	clock atomic.Value // a Factor: the clock that its streams share

	declared *item.Endpoint // current declaration; nil for a WebSocket; guarded by Recorder.mu

	// The last reading by Recorder.Counts; guarded by Recorder.mu.
	last  EndpointCounts
	stamp uint64 // the stamp taken before that reading
	known bool   // there was a reading
}

// places holds the shards in which an endpoint is counted. It is separate from Counters because the
// counts of a removed endpoint are added to Recorder.gone only once the garbage collector has found
// its Counters unused: see Recorder.fold.
type places struct {
	lanes  []lane // the lanes of the recorder
	common atomic.Pointer[Shard]
	row    atomic.Uint32 // the row of the lanes in which the endpoint is now counted; 0 if none
	marked atomic.Int64  // when the last stride was complete: ns since the recorder began; 0 before
}

func newCounters(id identity, lanes []lane) *Counters {
	t := &Counters{places: &places{lanes: lanes}, identity: id, since: time.Now()}
	if id.name != "" {
		t.key = id.id()
	}
	return t
}

// At returns the shard in which the requests of a connection are counted.
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
