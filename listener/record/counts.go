package record

import (
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

// Counts is what a server has done since it was started. The totals only rise, and are
// exact: each request is counted once, when its answer is about to be written. What is
// counted while they are read may be in them or not.
type Counts struct {
	Started time.Time
	Time    time.Time // when they were read
	// Endpoints are those that are served, in the order of the specification, and then
	// its WebSockets. One that a reload changes in what it answers goes on being counted.
	Endpoints []EndpointCounts
	Unmatched EndpointCounts // requests that no endpoint answered
	Options   EndpointCounts // OPTIONS that the server answered itself, from what is declared
	Malformed EndpointCounts // what never became a request, and was answered: 400, 408, 413, 431
	Gone      EndpointCounts // requests to endpoints that are served no more

	Connections int   // that are open, WebSockets among them
	WebSockets  int   // that are open
	InFlight    int64 // requests that are being served, those that wait for their latency among them
	// Distinct is how many different unmatched requests there were, as far as they were
	// still known: see Unmatched.
	Distinct uint64
}

// EndpointCounts is what was counted of one endpoint.
type EndpointCounts struct {
	ID       string // of the endpoint, 16 hexadecimal digits, the same at each start; "" for none
	Endpoint string // "GET /users/:id", "WebSocket /rooms/:id"; "" for none
	Host     string // that it is declared for; "" for any
	If       string // its condition; "" for none
	// Since is when it was served first, or again after a reload had taken it away: it
	// is counted from 0 then, and what it had before is among the Gone.
	Since time.Time
	// Requests is how many there were: the sum of Statuses.
	Requests uint64
	// Statuses are the answers of each status; 499 are requests whose client left, or
	// that stopping the server cut off, before they were answered, and 101 those that
	// became WebSocket connections. An answer that a fault spoilt counts with its status.
	Statuses map[int]uint64
	In, Out  uint64 // bytes of request and response bodies, without what faults held back
	// Faults are the answers that went wrong as declared: by the type of the fault,
	// "failure" for an injected 500 and "timeout" for an injected 504.
	Faults  map[string]uint64
	Limited uint64 // answered 429 by a rate limit
	Refused uint64 // answered 503 by a capacity
	// Broken are the answers of 500 and above that the server gave in place of what is
	// declared, which it could not give: a body that cannot be had, an internal error.
	Broken uint64
	// Received and Sent are messages of WebSocket connections.
	Received, Sent uint64
	// Service is the time that the server took itself: from a request's arrival until
	// its answer was handed over to be written, without what was injected.
	Service histogram.Snapshot
	// Injected is the time that latency was declared to take, and the wait for a place
	// of a capacity, of requests that have either.
	Injected histogram.Snapshot
	// InjectionError is how much later than that answers were ready.
	InjectionError histogram.Snapshot
}

// Counts reads what was counted. It may not be changed: what has stood still is shared by
// several readings. What is open is not known here.
func (r *Recorder) Counts() Counts {
	c := Counts{Time: time.Now(), Started: r.begun}
	for i := range r.lanes {
		c.InFlight += r.lanes[i].serving.Load()
	}
	c.Unmatched, c.Options, c.Malformed = r.unmatched.read(), r.options.read(), r.malformed.read()
	c.Distinct = r.misses.distinct()
	r.mu.Lock() // so that none moves to the gone meanwhile
	defer r.mu.Unlock()
	c.Endpoints = make([]EndpointCounts, len(r.order))
	for i, t := range r.order {
		c.Endpoints[i] = t.reread()
	}
	c.Gone = r.gone.read()
	for _, shards := range r.retired {
		readShards(shards, &c.Gone)
	}
	return c
}

// reread returns what was read last unless a request was counted since: of thousands of endpoints most have none from one second to the next.
func (t *Counters) reread() EndpointCounts {
	var stamp uint64
	for i := range t.shards {
		if c := t.shards[i].Load(); c != nil {
			stamp += c.stamp()
		}
	}
	if !t.known || stamp != t.stamp {
		t.last, t.stamp, t.known = t.read(), stamp, true
	}
	return t.last
}

// read adds up the shards.
func (t *Counters) read() EndpointCounts {
	total := EndpointCounts{
		ID: t.key, Endpoint: t.name, Host: t.host, If: t.condition, Since: t.since,
		Statuses: map[int]uint64{}, Faults: map[string]uint64{},
	}
	readShards(t.shards, &total)
	return total
}

func readShards(shards []atomic.Pointer[Shard], total *EndpointCounts) {
	for i := range shards {
		if c := shards[i].Load(); c != nil {
			c.read(total)
		}
	}
}

// After returns what was counted after an earlier reading of the same endpoint.
func (c *EndpointCounts) After(earlier *EndpointCounts) EndpointCounts {
	later := *c
	for i, n := range earlier.plain() {
		*later.plain()[i] -= *n
	}
	later.Statuses, later.Faults = rose(earlier.Statuses, c.Statuses), rose(earlier.Faults, c.Faults)
	later.Service, later.Injected = c.Service.Since(earlier.Service), c.Injected.Since(earlier.Injected)
	later.InjectionError = c.InjectionError.Since(earlier.InjectionError)
	return later
}

// plain are the counts that are one number.
func (c *EndpointCounts) plain() [8]*uint64 {
	return [...]*uint64{&c.Requests, &c.In, &c.Out, &c.Limited, &c.Refused, &c.Broken, &c.Received, &c.Sent}
}

// rose are the counts that rose, and by how much.
func rose[K comparable](before, after map[K]uint64) map[K]uint64 {
	rose := map[K]uint64{}
	for key, n := range after {
		if n > before[key] {
			rose[key] = n - before[key]
		}
	}
	return rose
}

// Total adds up what was counted of several endpoints. It is of no name.
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
	total.InjectionError = sum(func(c *EndpointCounts) *histogram.Snapshot { return &c.InjectionError })
	return total
}
