// Package record counts what a server does, and keeps requests in a journal.
package record

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/internal/secret"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Options selects what a server records. Counters are always recorded. Journal selects the requests
// that are recorded.
type Options struct {
	Journal JournalOptions
}

// Recorder counts what a server does. A request adds to the counters of its endpoint, in the lane
// of its connection, so that connections served at the same time rarely write the same memory. No
// lock is taken and nothing is sampled: counts are exact.
type Recorder struct {
	lanes   []lane // their number is a power of 2
	begun   time.Time
	journal *Journal
	misses  Misses

	Arrivals arrivals.Series
	rings    []*arrivals.Ring // those of the lanes

	unmatched *Counters // requests that no endpoint answered
	options   *Counters // OPTIONS requests that the server answers itself
	malformed *Counters // invalid requests

	mu      sync.Mutex // guards the fields below
	known   map[identity]*Counters
	order   []*Counters          // of the endpoints served, in order, then of the WebSockets
	retired map[*places]struct{} // of removed endpoints, to which requests may still add
	gone    *Counters            // counts of all other removed endpoints
	rows    []uint32             // rows that no endpoint uses
}

// lane holds the counts of the requests on some connections: of n lanes, each is used by one
// connection in n. Its padding keeps it out of the cache lines of other lanes; processors fetch two
// at a time.
type lane struct {
	_       [128]byte
	serving atomic.Int64                         // requests in progress
	others  [matcher.Protocols - 1]atomic.Uint64 // requests over protocols other than HTTP/1.1
	_       [128 - 8*matcher.Protocols]byte
	rows    [maxRows]atomic.Pointer[Shard]
	ring    arrivals.Ring
}

const (
	// maxLanes limits the memory of an endpoint that is requested over many connections.
	maxLanes = 256
	// maxRows is the maximum number of endpoints that are counted separately in each lane. It
	// limits the memory that many endpoints take.
	maxRows = 256
	// stride is the number of requests a second at which an endpoint begins to be counted
	// separately. With fewer, requests seldom contend, and the cost of sharing the memory is
	// negligible.
	stride = 4096
)

// New returns a recorder that has counted nothing.
func New(o Options) *Recorder {
	lanes := 1
	for lanes < min(runtime.GOMAXPROCS(0), maxLanes) {
		lanes *= 2
	}
	r := &Recorder{
		lanes: make([]lane, lanes), begun: time.Now(), journal: newJournal(o.Journal),
		known: map[identity]*Counters{}, retired: map[*places]struct{}{},
	}
	for i := range r.lanes {
		r.rings = append(r.rings, &r.lanes[i].ring)
	}
	for row := range uint32(maxRows) {
		r.rows = append(r.rows, maxRows-row)
	}
	r.unmatched, r.options = newCounters(identity{}, r.lanes), newCounters(identity{}, r.lanes)
	r.malformed, r.gone = newCounters(identity{}, r.lanes), newCounters(identity{}, r.lanes)
	return r
}

// lane returns the lane of a connection.
func (r *Recorder) lane(shard uint32) *lane { return laneOf(r.lanes, shard) }

func laneOf(lanes []lane, shard uint32) *lane { return &lanes[shard&uint32(len(lanes)-1)] }

// Adopt returns the counters of the endpoints of a specification that is about to be served, and
// then of its WebSockets. The counters of a removed endpoint are added to gone once the garbage
// collector finds them unused: until then, a request in progress or a WebSocket connection may
// still add to them.
func (r *Recorder) Adopt(spec *config.Spec) []*Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := identities(spec)
	known := make(map[identity]*Counters, len(ids))
	order := make([]*Counters, len(ids))
	for i, id := range ids {
		t := r.known[id]
		if t == nil {
			t = newCounters(id, r.lanes)
			t.route, t.shown = routeOf(spec, i), secret.Condition(id.condition)
			if i >= len(spec.Endpoints) || slices.ContainsFunc(spec.Endpoints[i].AllResponses(), (*item.Response).HasStream) {
				r.spread(t.places) // since neither messages on WebSockets nor items of streams call spreadBusy
			}
		}
		t.declared = nil
		if i < len(spec.Endpoints) {
			t.declared = &spec.Endpoints[i]
		}
		order[i], known[id] = t, t
	}
	for id, t := range r.known {
		if known[id] == nil {
			r.retired[t.places] = struct{}{}
			runtime.AddCleanup(t, r.fold, t.places)
		}
	}
	r.known, r.order = known, order
	return order
}

// fold adds the counters of a removed endpoint, which are no longer used, to gone.
func (r *Recorder) fold(p *places) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, p)
	into := r.gone.At(0)
	p.each(into.merge)
	if row := p.row.Load(); row > 0 {
		for i := range r.lanes {
			r.lanes[i].rows[row-1].Store(nil)
		}
		r.rows = append(r.rows, row)
	}
}

// spread counts an endpoint separately in each lane from now on, if a row is left. The caller must
// hold r.mu.
func (r *Recorder) spread(p *places) {
	if n := len(r.rows); n > 0 && len(r.lanes) > 1 && p.row.Load() == 0 {
		p.row.Store(r.rows[n-1])
		r.rows = r.rows[:n-1]
	}
}

// spreadBusy spreads an endpoint that has many requests. It is called once per stride of requests and
// never blocks: if r.mu is held, the next stride will follow soon.
func (r *Recorder) spreadBusy(p *places) {
	now := int64(time.Since(r.begun)) + 1
	before := p.marked.Swap(now)
	if before == 0 || now-before > int64(time.Second) || p.row.Load() > 0 || !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	r.spread(p)
}

// ForOptions returns the counters of OPTIONS requests that the server answers itself, or nil for a
// nil recorder.
func (r *Recorder) ForOptions() *Counters {
	if r == nil {
		return nil
	}
	return r.options
}

// Journal returns the journal of requests, or nil for a nil recorder.
func (r *Recorder) Journal() *Journal {
	if r == nil {
		return nil
	}
	return r.journal
}

// Misses returns the requests that no endpoint answered.
func (r *Recorder) Misses() *Misses { return &r.misses }

// Begun returns when the recorder began: the times of arrivals are times since then.
func (r *Recorder) Begun() time.Time { return r.begun }

// Arrive counts the arrival of a request on a connection of a shard: see arrivals.Ring.
func (r *Recorder) Arrive(shard uint32, at, last time.Duration) { r.lane(shard).ring.Arrive(at, last) }

// Enter counts a request as in progress, on a connection of a shard, until Leave is called.
func (r *Recorder) Enter(shard uint32) { r.lane(shard).serving.Add(1) }

// Leave undoes Enter: the request no longer counts as in progress.
func (r *Recorder) Leave(shard uint32) { r.lane(shard).serving.Add(-1) }

// End records the outcome of a request that took the given time and is about to be answered with p,
// or whose client has left.
func (r *Recorder) End(in *matcher.Input, p *reply.Reply, c *Trace, shard uint32, took time.Duration, left bool) {
	t := c.Counters
	if t == nil {
		t = r.unmatched
	}
	r.countProtocol(in.Protocol, shard)
	own := c.Own(took)
	counts := t.At(shard)
	status, received, sent := p.Status, max(len(in.Body), c.Received), c.sent(in, p)
	if left {
		status, sent, own = StatusLeft, 0, 0
	} else {
		c.count(p, counts, status)
		c.time(counts, took, own)
	}
	nth := counts.countReply(status, received, sent)
	if nth%stride == 0 {
		r.spreadBusy(t.places)
	}
	if kept, slow, ok := r.journal.wants(c.remark(p, t == r.unmatched, status), nth, own); ok {
		if in.Time.IsZero() {
			in.Time = time.Now().Add(-took)
		}
		x := exchangeOf(in, p)
		x.by(t, kept)
		x.Request.Size, x.Request.Cut = received, x.Request.Cut || received > KeptPart
		x.Status, x.Took, x.Injected, x.Upstream, x.Fault = status, took, c.Waited, c.Upstream, c.Fault
		if c.Streamed.End != "" {
			x.Streamed = new(c.Streamed)
			x.Response.Size, x.Response.Cut = c.Streamed.Bytes, c.Streamed.Bytes > 0 // its body is not kept
		}
		if (c.Fault == policy.FaultSlowBody || c.Fault == policy.FaultTruncate) && len(p.Sent(string(in.Method) == "HEAD")) > 0 {
			x.Response.Body, x.Response.Cut = nil, true // how much of it is sent depends on the client
		}
		r.journal.put(x, slow)
	}
}

// countProtocol counts a request by its protocol. The number of requests over HTTP/1.1, the most
// common protocol, is what remains of all requests.
func (r *Recorder) countProtocol(p matcher.Protocol, shard uint32) {
	if p != matcher.HTTP11 {
		r.lane(shard).others[p-1].Add(1)
	}
}

// Refused records a reply to an invalid request.
func (r *Recorder) Refused(in *matcher.Input, p *reply.Reply, shard uint32) {
	r.countProtocol(in.Protocol, shard)
	r.malformed.At(shard).countReply(p.Status, 0, len(p.Body))
	x := exchangeOf(in, p)
	x.Kept = Failed
	r.journal.put(x, false)
}
