package record

import (
	"time"

	"mockserver/config/item"
	"mockserver/internal/histogram"
	"mockserver/matcher"
)

// Counts contains what a server has done since it was started. Totals only increase, and they are
// exact: each request is counted once, when its reply is about to be written. A request that is
// counted during a reading may or may not be included in it.
type Counts struct {
	Started time.Time
	Time    time.Time // when the counters were read
	// Endpoints contains the endpoints that are served, in the order of the specification, and then
	// its WebSockets. Counting continues when a reload changes the response.
	Endpoints []EndpointCounts
	Unmatched EndpointCounts // requests that no endpoint answered
	Options   EndpointCounts // OPTIONS requests that the server answered itself
	Malformed EndpointCounts // invalid requests that were answered with 400, 408, 413 or 431
	Gone      EndpointCounts // requests to removed endpoints

	// Protocols is how many of all these requests arrived over each protocol.
	Protocols [matcher.Protocols]uint64
	// AcceptFailures is how often a connection could not be accepted, because no file descriptor
	// was free or for another reason that may be temporary.
	AcceptFailures uint64
	// SharedLocally is how often this replica decided on its own about a shared limit or number,
	// because the shared state did not answer.
	SharedLocally uint64
	Replicas      int64 // replicas that share the state, when last counted; 0 without shared state
	// Handshakes contains the numbers of TLS handshakes in groups; nil without TLS. HandshakeTime
	// is the CPU time that the handshakes have used.
	Handshakes    []HandshakeCount
	HandshakeTime time.Duration
	Sets          []SetCounts // sets of rows, in the order of their names
	Connections   int         // open connections, including WebSockets
	WebSockets    int         // open WebSockets
	InFlight      int64       // requests in progress or waiting; not those answered within a µs
	// RecordingDropped is how many exchanges with upstreams should have been recorded but were not.
	RecordingDropped uint64
	// Distinct is how many different unmatched requests there were since the journal was last
	// reset; a request that had been forgotten is counted again.
	Distinct uint64
}

// HandshakeCount is how many TLS handshakes had one result: "ok", or the reason why they failed.
type HandshakeCount struct {
	Result  string
	Resumed bool   // with the ticket of an earlier handshake
	Version string // "1.2" or "1.3"; "" for failed handshakes
	Count   uint64
}

// FullHandshakes returns the number of full handshakes, and the number of all handshakes.
func (c *Counts) FullHandshakes() (full, all uint64) {
	for i := range c.Handshakes {
		h := &c.Handshakes[i]
		if all += h.Count; !h.Resumed {
			full += h.Count
		}
	}
	return full, all
}

// SetCounts contains the figures of a set of rows.
type SetCounts struct {
	Name string

	Rows    int64 // rows that requests without an isolation value see
	Base    int64 // rows from the file or declared in place
	Changes int64 // rows that were changed, added or deleted, in all parts
	Parts   int64 // isolated parts with changes
	Bytes   int64 // memory that the changes take

	Conflicts  int64 // how often a request was answered again because what it read had changed
	GivenUp    int64 // changes that were dropped to make room
	Moves      int64 // changes that rows made by themselves
	Operations []SetOperation
}

// SetOperation is how often requests have performed one operation on a set with one result: ok,
// missing for a row that does not exist, or the code of an error.
type SetOperation struct {
	Operation, Result string
	Count             uint64
}

// EndpointCounts contains the counts of one endpoint.
type EndpointCounts struct {
	ID       string // 16 hexadecimal digits, the same at each start; "" for no endpoint
	Endpoint string // "GET /users/:id", "WebSocket /rooms/:id"; "" for no endpoint
	Host     string // host that it is declared for; "" means any
	If       string // its condition, without secrets; "" if none
	// Since is when the endpoint was first served, or served again after a reload had removed it:
	// in that case counting starts at 0, and the earlier counts are in Gone.
	Since time.Time
	// Requests is the number of requests: the sum of Statuses.
	Requests uint64
	// Statuses is how many replies had each status. Status 499 counts requests that were not
	// answered, because the client left or the server stopped; 101 counts those that became
	// WebSocket connections. A reply that a fault spoils counts with its intended status.
	Statuses map[int]uint64
	In, Out  uint64 // bytes of request and response bodies, as far as faults let them through
	// Faults is how many replies had a declared fault, by the type of the fault: "failure" is an
	// injected 500, and "timeout" is an injected 504.
	Faults  map[string]uint64
	Limited uint64 // answered 429 by a rate limit
	Refused uint64 // answered 503 by a capacity
	// Broken is how many replies with status 500 and above the server sent because it could not
	// send the declared one: a body was unavailable, or there was an internal error.
	Broken uint64
	// Received and Sent count WebSocket messages.
	Received, Sent uint64
	// Total is the response time: from the arrival of a request until its reply was handed
	// over to be written.
	Total histogram.Snapshot
	// Service is the part of Total that is the server's own work: without injected latency, its
	// error, and Upstream.
	Service histogram.Snapshot
	// Upstream is the time spent waiting for remote bodies, by requests that waited for them, and
	// for upstreams that requests were passed on to.
	Upstream histogram.Snapshot
	// Fetched is the part of Upstream for remote bodies.
	Fetched histogram.Snapshot
	// UpstreamWait is the time spent waiting for a place at an upstream, by requests that waited
	// for one.
	UpstreamWait histogram.Snapshot
	// Injected is the declared latency plus the wait in the queue of a capacity, for requests that
	// have either.
	Injected histogram.Snapshot
	// InjectionError is how much later than Injected the replies were, as a client sees it.
	InjectionError histogram.Snapshot
	// Declared is the declaration of the endpoint; nil for a WebSocket, and for counts that belong
	// to no endpoint.
	Declared *item.Endpoint
}

// Counts reads the counters. The result must not be changed: readings share whatever did not change
// between them. The fields that the recorder does not count, such as Connections and Sets, are left
// empty.
func (r *Recorder) Counts() Counts {
	c := Counts{Time: time.Now(), Started: r.begun}
	for i := range r.lanes {
		c.InFlight += r.lanes[i].serving.Load()
	}
	c.Unmatched, c.Options, c.Malformed = r.unmatched.read(), r.options.read(), r.malformed.read()
	c.Distinct = r.misses.distinct()
	r.mu.Lock() // so that no endpoint is moved to gone in between
	defer r.mu.Unlock()
	c.Endpoints = make([]EndpointCounts, len(r.order))
	for i, t := range r.order {
		c.Endpoints[i] = t.reread()
		c.Endpoints[i].Declared = t.declared
	}
	c.Gone = r.gone.read()
	for p := range r.retired {
		p.read(&c.Gone)
	}
	c.Protocols = r.protocols(&c)
	return c
}

// protocols returns how many of the counted requests arrived over each protocol. A request that is
// counted during the call may be missing from the number of HTTP/1.1.
func (r *Recorder) protocols(c *Counts) (n [matcher.Protocols]uint64) {
	all := c.Unmatched.Requests + c.Options.Requests + c.Malformed.Requests + c.Gone.Requests
	for i := range c.Endpoints {
		all += c.Endpoints[i].Requests
	}
	others := uint64(0)
	for i := range r.lanes {
		for p := range r.lanes[i].others {
			came := r.lanes[i].others[p].Load()
			n[p+1] += came
			others += came
		}
	}
	n[matcher.HTTP11] = all - min(all, others)
	return n
}

// reread reads the counters, or returns the last reading if nothing was counted since: of thousands
// of endpoints, most have no request from one second to the next.
func (t *Counters) reread() EndpointCounts {
	var stamp uint64
	t.places.each(func(c *Shard) { stamp += c.stamp() })
	if !t.known || stamp != t.stamp {
		t.last, t.stamp, t.known = t.read(), stamp, true
	}
	return t.last
}

// read adds up the shards.
func (t *Counters) read() EndpointCounts {
	total := EndpointCounts{
		ID: t.key, Endpoint: t.name, Host: t.host, If: t.shown, Since: t.since,
		Statuses: map[int]uint64{}, Faults: map[string]uint64{},
	}
	t.places.read(&total)
	return total
}

// read adds the shards to a total.
func (p *places) read(total *EndpointCounts) {
	p.each(func(c *Shard) { c.read(total) })
}

// After returns what has been counted since an earlier reading of the same endpoint.
func (c *EndpointCounts) After(earlier *EndpointCounts) EndpointCounts {
	later := *c
	for i, n := range earlier.plain() {
		*later.plain()[i] -= *n
	}
	later.Statuses, later.Faults = rose(earlier.Statuses, c.Statuses), rose(earlier.Faults, c.Faults)
	later.Service, later.Injected = c.Service.Since(earlier.Service), c.Injected.Since(earlier.Injected)
	later.Upstream, later.Fetched = c.Upstream.Since(earlier.Upstream), c.Fetched.Since(earlier.Fetched)
	later.UpstreamWait = c.UpstreamWait.Since(earlier.UpstreamWait)
	later.InjectionError, later.Total = c.InjectionError.Since(earlier.InjectionError), c.Total.Since(earlier.Total)
	return later
}

// plain returns the counts that are single numbers.
func (c *EndpointCounts) plain() [8]*uint64 {
	return [...]*uint64{&c.Requests, &c.In, &c.Out, &c.Limited, &c.Refused, &c.Broken, &c.Received, &c.Sent}
}

// rose returns the increase of each count that has increased.
func rose[K comparable](before, after map[K]uint64) map[K]uint64 {
	rose := map[K]uint64{}
	for key, n := range after {
		if n > before[key] {
			rose[key] = n - before[key]
		}
	}
	return rose
}

// Total adds up the counts of several endpoints. The result has no name.
func Total(all []*EndpointCounts) EndpointCounts {
	total := EndpointCounts{Statuses: map[int]uint64{}, Faults: map[string]uint64{}}
	into := total.plain()
	for _, c := range all {
		for i, n := range c.plain() {
			*into[i] += *n
		}
		for status, n := range c.Statuses {
			total.Statuses[status] += n
		}
		for fault, n := range c.Faults {
			total.Faults[fault] += n
		}
	}
	sum := func(of func(*EndpointCounts) *histogram.Snapshot) histogram.Snapshot {
		return histogram.Sum(func(yield func(histogram.Snapshot) bool) {
			for _, c := range all {
				if l := of(c); l.Count > 0 && !yield(*l) {
					return
				}
			}
		})
	}
	total.Service = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.Service })
	total.Injected = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.Injected })
	total.Upstream = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.Upstream })
	total.Fetched = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.Fetched })
	total.UpstreamWait = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.UpstreamWait })
	total.Total = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.Total })
	total.InjectionError = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.InjectionError })
	return total
}
