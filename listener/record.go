package listener

import (
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
)

// recorder counts what the server does. A request adds to counters that belong to its
// endpoint and to a shard, which is that of its connection: connections that are served
// at the same time meet at the same counter seldom. Nothing is locked, and nothing is
// sampled: what it says is exact.
type recorder struct {
	shards  int    // a power of 2
	lanes   []lane // one for each shard
	begun   time.Time
	journal *journal
	misses  misses

	unmatched *account // requests that no endpoint answered
	options   *account // OPTIONS that the server answers itself, from what is declared
	malformed *account // what never became a request

	mu      sync.Mutex // guards what follows
	known   map[identity]*account
	order   []*account                                           // those of the endpoints that are served, in their order, then of WebSockets
	retired map[*atomic.Pointer[counts]][]atomic.Pointer[counts] // of endpoints that are no more, which requests may still add to
	gone    *account                                             // the others of those
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

func newRecorder(o RecordOptions) *recorder {
	r := &recorder{
		shards: 1, begun: time.Now(), journal: newJournal(o.Journal),
		known: map[identity]*account{}, retired: map[*atomic.Pointer[counts]][]atomic.Pointer[counts]{},
	}
	for r.shards < min(runtime.GOMAXPROCS(0), maxShards) {
		r.shards *= 2
	}
	r.lanes = make([]lane, r.shards)
	r.unmatched, r.options = newAccount(identity{}, r.shards), newAccount(identity{}, r.shards)
	r.malformed, r.gone = newAccount(identity{}, r.shards), newAccount(identity{}, 1)
	return r
}

// lane is that of a connection.
func (r *recorder) lane(shard uint32) *lane { return &r.lanes[shard&uint32(r.shards-1)] }

// identity is what tells an endpoint from the others across reloads. What it answers
// is no part of it: an endpoint that answers something else goes on being counted.
type identity struct {
	name, host, condition string
	nth                   int // of those that are alike in these, as they are declared
}

// id is a text for it that stands in a path: 16 hexadecimal digits, the same whenever
// and wherever the endpoint is served.
func (i identity) id() string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strings.Join([]string{i.name, i.host, i.condition, strconv.Itoa(i.nth)}, "\x00")) // never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// identities are those of the endpoints of a specification, and then of its WebSockets.
func identities(spec *config.Spec) []identity {
	all := make([]identity, 0, len(spec.Endpoints)+len(spec.WebSockets))
	add := func(i identity) { all = append(all, i) }
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		add(identity{name: nameOf(e), host: e.Host, condition: e.If.Value})
	}
	for i := range spec.WebSockets {
		w := &spec.WebSockets[i]
		add(identity{name: kindOfSocket + " " + w.Path.Value, host: w.Host, condition: w.If.Value})
	}
	// From the last: one that is put in front of another is not taken for it.
	alike := map[identity]int{}
	for i := len(all) - 1; i >= 0; i-- {
		one := all[i]
		alike[one]++
		all[i].nth = alike[one]
	}
	return all
}

// account is what is counted of one endpoint. Room for a shard is made by its first
// request: half a KiB, and 1 KiB for each octave of its lengths of time.
type account struct {
	identity
	key    string // its id; "" for none of an endpoint
	route  *route // for conditions; nil for none. What keeps it keeps no account
	shards []atomic.Pointer[counts]
	since  time.Time

	// What was read of it last, by Counts, which recorder.mu guards.
	last  Counted
	stamp uint64 // of before that
	known bool   // it was read
}

func newAccount(id identity, shards int) *account {
	t := &account{identity: id, shards: make([]atomic.Pointer[counts], shards), since: time.Now()}
	if id.name != "" {
		t.key = id.id()
	}
	return t
}

// routeOf is the path of the i-th of the endpoints, and then the WebSockets, of a
// specification.
func routeOf(spec *config.Spec, i int) *route {
	if i < len(spec.Endpoints) {
		return &route{spec.Endpoints[i].Path.Value, spec.Endpoints[i].Template}
	}
	return &route{path: spec.WebSockets[i-len(spec.Endpoints)].Path.Value}
}

// at is the counters of a shard.
func (t *account) at(shard uint32) *counts {
	p := &t.shards[shard&uint32(len(t.shards)-1)]
	c := p.Load()
	if c == nil {
		p.CompareAndSwap(nil, new(counts))
		c = p.Load()
	}
	return c
}

// adopt gives the endpoints of a snapshot that is about to be served their accounts.
// Those of endpoints that are no more are counted among the gone. A request that is
// being served, a WebSocket connection even, may still add to them, so they are kept as
// they are until nobody has them, which the garbage collector tells.
func (r *recorder) adopt(sn *snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := identities(sn.spec)
	shards := r.shards
	for shards > 1 && shards*len(ids) > maxCounts {
		shards /= 2
	}
	known := make(map[identity]*account, len(ids))
	order := make([]*account, len(ids))
	for i, id := range ids {
		t := r.known[id]
		if t == nil {
			t = newAccount(id, shards)
			t.route = routeOf(sn.spec, i)
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
	for i := range sn.answers {
		sn.answers[i].account = order[i]
	}
	for i := range sn.spec.WebSockets {
		sn.sockets.all[i].account = order[len(sn.answers)+i]
	}
	for _, f := range sn.fixed {
		if f != nil {
			f.account = f.answer.account
		}
	}
}

// fold adds what an account has, which nobody adds to any more, to what the gone have.
func (r *recorder) fold(shards []atomic.Pointer[counts]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, &shards[0])
	into := r.gone.at(0)
	for i := range shards {
		if c := shards[i].Load(); c != nil {
			into.merge(c)
		}
	}
}

// ofOptions is what counts OPTIONS that the server answers itself.
func (r *recorder) ofOptions() *account {
	if r == nil {
		return nil
	}
	return r.options
}

// course is what became of a request, as far as it is recorded.
type course struct {
	account  *account
	answer   *answer // of the endpoint; nil until it is known
	fault    *fault  // nil for none
	limited  bool    // by a rate limit
	refused  bool    // by a capacity
	instead  *failure
	declared time.Duration // the latency that was drawn for it, and its wait for a place
	waited   time.Duration // of that, what was not over before it was served
	late     time.Duration // by how much more
	timed    bool          // there was a latency, and it is over
}

// waits tells that the request has waited for a place.
func (c *course) waits(d time.Duration) {
	c.declared += d
	c.waited += d
}

// begin counts a request that is being served.
func (r *recorder) begin(ctx *fasthttp.RequestCtx) {
	shard, _ := shardOf(ctx)
	r.lane(shard).serving.Add(1)
}

// shardOf is the shard of the connection of a request; of one of a test the first.
func shardOf(ctx *fasthttp.RequestCtx) (uint32, *connection) {
	if c, ok := ctx.Conn().(*connection); ok {
		return c.shard, c
	}
	return 0, nil
}

// end counts what became of a request, which is about to be written, or is not
// answered.
func (r *recorder) end(ctx *fasthttp.RequestCtx, c *course) {
	shard, conn := shardOf(ctx)
	r.lane(shard).serving.Add(-1)
	var took time.Duration
	if begun := ctx.Time(); !begun.IsZero() {
		took = time.Since(begun)
	}
	t := c.account
	if t == nil {
		t = r.unmatched
	}
	own := max(took-c.waited, 0)
	counts := t.at(shard)
	status := ctx.Response.StatusCode()
	in, out := len(ctx.Request.Body()), c.sent(ctx)
	if conn != nil && conn.left {
		status, out, own = statusLeft, 0, 0
	} else {
		counts.service.add(own)
		c.count(ctx, counts, status)
	}
	nth := counts.answered(status, in, out)
	if kept, slow, ok := r.journal.wants(c.remark(ctx, t == r.unmatched, status), nth, own); ok {
		x := exchangeOf(ctx)
		x.by(t, kept)
		x.Status, x.Took, x.Injected = status, took, c.waited
		if c.fault != nil {
			x.Fault = c.fault.kind
		}
		r.journal.put(x, slow)
	}
}

// sent is how many bytes of the body are to be sent.
func (c *course) sent(ctx *fasthttp.RequestCtx) int {
	resp := &ctx.Response
	n := 0
	switch {
	case ctx.IsHead():
	case resp.IsBodyStream():
		n = resp.Header.ContentLength()
	default:
		n = len(resp.Body())
	}
	if c.fault == nil || c.fault.kind == slow {
		return n
	}
	if c.fault.kind == truncate {
		return n / 2
	}
	return 0
}

// count counts what is remarkable of a request beside its answer.
func (c *course) count(ctx *fasthttp.RequestCtx, counts *counts, status int) {
	if c.fault != nil {
		counts.faults[c.fault.number].Add(1)
	}
	switch {
	case c.limited:
		counts.limited.Add(1)
	case c.refused:
		counts.refused.Add(1)
	case c.instead == &injectedFailure:
		counts.faults[failureNumber].Add(1)
	case c.instead == &injectedTimeout:
		counts.faults[timeoutNumber].Add(1)
	case c.account != nil && status >= 500 && ctx.UserValue(refusalKey{}) != nil:
		counts.broken.Add(1)
	}
	if c.declared > 0 || c.timed {
		p := counts.pauses()
		p.injected.add(c.declared)
		if c.timed {
			p.late.add(c.late)
		}
	}
}

// remark says why the journal is to have the request, whatever it samples.
func (c *course) remark(ctx *fasthttp.RequestCtx, unmatched bool, status int) Kept {
	switch {
	case unmatched:
		return Unmatched
	case status >= 500 || c.fault != nil || ctx.UserValue(refusalKey{}) != nil:
		return Failed
	}
	return ""
}

// refused counts what never became a request, and was told so.
func (r *recorder) refused(ctx *fasthttp.RequestCtx) {
	shard, _ := shardOf(ctx)
	status := ctx.Response.StatusCode()
	r.malformed.at(shard).answered(status, 0, len(ctx.Response.Body()))
	x := exchangeOf(ctx)
	x.Kept, x.Status, x.Time = Failed, status, time.Now() // ctx has that of the request before
	r.journal.put(x, false)
}
