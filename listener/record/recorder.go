// Package record counts what a server does, and keeps requests in a journal.
package record

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Options says what a server records: counters always, and requests as the journal says.
type Options struct {
	Journal JournalOptions
}

// Recorder counts what a server does. A request adds to the counters of its endpoint, in
// the shard of its connection, so that connections served at the same time seldom share a
// counter. Nothing is locked and nothing is sampled: counts are exact.
type Recorder struct {
	shards  int    // a power of 2
	lanes   []lane // one for each shard
	begun   time.Time
	journal *Journal
	misses  Misses

	unmatched *Counters // requests that no endpoint answered
	options   *Counters // OPTIONS that the server answers itself, from what is declared
	malformed *Counters // what was not a valid request

	mu      sync.Mutex // guards what follows
	known   map[identity]*Counters
	order   []*Counters                                        // of the endpoints that are served, in their order, then of the WebSockets
	retired map[*atomic.Pointer[Shard]][]atomic.Pointer[Shard] // of removed endpoints, which requests may still add to
	gone    *Counters                                          // of all other removed endpoints
}

// lane is what a shard counts apart from its endpoints.
type lane struct {
	serving atomic.Int64 // requests
	_       [56]byte     // fills a cache line
}

const (
	// maxShards bounds the memory of an endpoint that is requested over many connections.
	maxShards = 16
	// maxCounts bounds the memory of many endpoints, which have fewer shards, down to one:
	// their requests seldom meet at the same endpoint anyway.
	maxCounts = 2048
)

// New returns a recorder that has counted nothing.
func New(o Options) *Recorder {
	r := &Recorder{
		shards: 1, begun: time.Now(), journal: newJournal(o.Journal),
		known: map[identity]*Counters{}, retired: map[*atomic.Pointer[Shard]][]atomic.Pointer[Shard]{},
	}
	for r.shards < min(runtime.GOMAXPROCS(0), maxShards) {
		r.shards *= 2
	}
	r.lanes = make([]lane, r.shards)
	r.unmatched, r.options = newCounters(identity{}, r.shards), newCounters(identity{}, r.shards)
	r.malformed, r.gone = newCounters(identity{}, r.shards), newCounters(identity{}, 1)
	return r
}

// lane returns the lane of a shard.
func (r *Recorder) lane(shard uint32) *lane { return &r.lanes[shard&uint32(r.shards-1)] }

// Adopt returns the counters of the endpoints of a specification that is about to be
// served, and then of its WebSockets. Those of removed endpoints are added to the gone. A
// request in progress, or a WebSocket connection, may still add to them, so they stay as
// they are until the garbage collector finds them unused.
func (r *Recorder) Adopt(spec *config.Spec) []*Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := identities(spec)
	shards := r.shards
	for shards > 1 && shards*len(ids) > maxCounts {
		shards /= 2
	}
	known := make(map[identity]*Counters, len(ids))
	order := make([]*Counters, len(ids))
	for i, id := range ids {
		t := r.known[id]
		if t == nil {
			t = newCounters(id, shards)
			t.route = routeOf(spec, i)
		}
		t.latency = nil
		if i < len(spec.Endpoints) {
			t.latency = spec.Endpoints[i].Latency
		}
		order[i], known[id] = t, t
	}
	for id, t := range r.known {
		if known[id] == nil {
			r.retired[&t.shards[0]] = t.shards
			runtime.AddCleanup(t, r.fold, t.shards)
		}
	}
	r.known, r.order = known, order
	return order
}

// fold adds the counters of a removed endpoint, which are no longer used, to the gone.
func (r *Recorder) fold(shards []atomic.Pointer[Shard]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, &shards[0])
	into := r.gone.At(0)
	for i := range shards {
		if c := shards[i].Load(); c != nil {
			into.merge(c)
		}
	}
}

// ForOptions returns the counters of OPTIONS requests that the server answers itself; nil
// for a nil recorder.
func (r *Recorder) ForOptions() *Counters {
	if r == nil {
		return nil
	}
	return r.options
}

// Journal returns where requests are kept; nil for a nil recorder.
func (r *Recorder) Journal() *Journal {
	if r == nil {
		return nil
	}
	return r.journal
}

// Misses returns the requests that no endpoint answered.
func (r *Recorder) Misses() *Misses { return &r.misses }

// Begin counts a request as in progress, on a connection of a shard.
func (r *Recorder) Begin(shard uint32) {
	r.lane(shard).serving.Add(1)
}

// End records the outcome of a request that is about to be answered with p, or whose
// client has left.
func (r *Recorder) End(in *matcher.Input, p *reply.Reply, c *Trace, shard uint32, left bool) {
	r.lane(shard).serving.Add(-1)
	var took time.Duration
	if !in.Time.IsZero() {
		took = time.Since(in.Time)
	}
	t := c.Counters
	if t == nil {
		t = r.unmatched
	}
	own := c.Own(took)
	counts := t.At(shard)
	status, received, sent := p.Status, len(in.Body), c.sent(in, p)
	if left {
		status, sent, own = StatusLeft, 0, 0
	} else {
		c.count(p, counts, status)
		c.time(counts, took, own)
	}
	nth := counts.answered(status, received, sent)
	if kept, slow, ok := r.journal.wants(c.remark(p, t == r.unmatched, status), nth, own); ok {
		x := exchangeOf(in, p)
		x.by(t, kept)
		x.Status, x.Took, x.Injected, x.Fault = status, took, c.Waited, c.Fault
		if c.isStreamed(in, p) {
			x.Response.Body, x.Response.Cut = nil, true // what is sent of it depends on the client
		}
		r.journal.put(x, slow)
	}
}

// Refused records what was answered as not being a valid request.
func (r *Recorder) Refused(in *matcher.Input, p *reply.Reply, shard uint32) {
	r.malformed.At(shard).answered(p.Status, 0, len(p.Body))
	x := exchangeOf(in, p)
	x.Kept = Failed
	r.journal.put(x, false)
}
