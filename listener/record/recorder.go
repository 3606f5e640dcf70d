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

// Options says what is kept of what a server does: its counts always, and of the
// requests themselves what the journal is told to.
type Options struct {
	Journal JournalOptions
}

// Recorder counts what the server does. A request adds to counters that belong to its
// endpoint and to a shard, which is that of its connection: connections that are served
// at the same time meet at the same counter seldom. Nothing is locked, and nothing is
// sampled: what it says is exact.
type Recorder struct {
	shards  int    // a power of 2
	lanes   []lane // one for each shard
	begun   time.Time
	journal *Journal
	misses  Misses

	unmatched *Counters // requests that no endpoint answered
	options   *Counters // OPTIONS that the server answers itself, from what is declared
	malformed *Counters // what never became a request

	mu      sync.Mutex // guards what follows
	known   map[identity]*Counters
	order   []*Counters                                        // those of the endpoints that are served, in their order, then of WebSockets
	retired map[*atomic.Pointer[Shard]][]atomic.Pointer[Shard] // of endpoints that are no more, which requests may still add to
	gone    *Counters                                          // the others of those
}

// lane is what is counted of a shard beside its endpoints.
type lane struct {
	serving atomic.Int64 // requests
	_       [56]byte     // a line of its own
}

const (
	// maxShards bounds what an endpoint that is asked from many connections takes.
	maxShards = 16
	// maxCounts bounds it for many endpoints: each has one shard then. Requests to
	// many meet at the same one seldom anyway.
	maxCounts = 2048
)

// New is a recorder that has counted nothing.
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

// lane is that of a connection.
func (r *Recorder) lane(shard uint32) *lane { return &r.lanes[shard&uint32(r.shards-1)] }

// Adopt gives the endpoints of a specification that is about to be served, and then its
// WebSockets, their counters. Those of endpoints that are no more are counted among the gone. A request that is
// being served, a WebSocket connection even, may still add to them, so they are kept as
// they are until nobody has them, which the garbage collector tells.
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

// fold adds what an endpoint has, which nobody adds to any more, to what the gone have.
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

// ForOptions is what counts OPTIONS that the server answers itself.
func (r *Recorder) ForOptions() *Counters {
	if r == nil {
		return nil
	}
	return r.options
}

// Journal is where requests are kept; nil of no recorder.
func (r *Recorder) Journal() *Journal {
	if r == nil {
		return nil
	}
	return r.journal
}

// Misses are the requests that no endpoint answered.
func (r *Recorder) Misses() *Misses { return &r.misses }

// Begin counts a request that is being served, on a connection of a shard.
func (r *Recorder) Begin(shard uint32) {
	r.lane(shard).serving.Add(1)
}

// End counts what became of a request, which is about to be answered with p, or is not:
// its client may have left.
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
	own := max(took-c.Waited, 0)
	counts := t.At(shard)
	status, received, sent := p.Status, len(in.Body), c.sent(in, p)
	if left {
		status, sent, own = StatusLeft, 0, 0
	} else {
		counts.service.Add(own)
		c.count(p, counts, status)
	}
	nth := counts.answered(status, received, sent)
	if kept, slow, ok := r.journal.wants(c.remark(p, t == r.unmatched, status), nth, own); ok {
		x := exchangeOf(in, p)
		x.by(t, kept)
		x.Status, x.Took, x.Injected, x.Fault = status, took, c.Waited, c.Fault
		if c.isStreamed(in, p) {
			x.Response.Body, x.Response.Cut = nil, true // what of it is sent is for the client alone
		}
		r.journal.put(x, slow)
	}
}

// Refused counts what never became a request, and was told so.
func (r *Recorder) Refused(in *matcher.Input, p *reply.Reply, shard uint32) {
	r.malformed.At(shard).answered(p.Status, 0, len(p.Body))
	x := exchangeOf(in, p)
	x.Kept = Failed
	r.journal.put(x, false)
}
