package record

import (
	"time"

	"mockserver/config/item"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/arrivals"
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

	Arrivals arrivals.Figures
	// Protocols is how many of all these requests arrived over each protocol.
	Protocols [matcher.Protocols]uint64
	// AcceptFailures is how often a connection could not be accepted, because no file descriptor
	// was free or for another reason that may be temporary.
	AcceptFailures uint64
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

// SetCounts contains the figures of a set of rows: in a reading, those since the server was started;
// in a report, those of the run, and the state of the set at its end.
type SetCounts struct {
	Name    string `json:"name" doc:"name, as declared"`
	Rows    int64  `json:"rows" doc:"rows that requests without an isolating value see"`
	Base    int64  `json:"base" doc:"rows in the file, or declared in place"`
	Changes int64  `json:"changes" doc:"rows that were changed, added or deleted, in all parts"`
	Parts   int64  `json:"parts" doc:"isolated parts with changes"`
	Bytes   int64  `json:"bytes" doc:"memory that the changes take, in bytes"`

	Conflicts  int64      `json:"conflicts" doc:"how often a request was answered again because rows it had read had changed"`
	GivenUp    int64      `json:"given_up" doc:"changes dropped for lack of room"`
	Moves      int64      `json:"moves" doc:"changes that rows have made on their own"`
	Operations Operations `json:"operations" doc:"what requests did, by operation and result: ok, missing, or the code of an error"`
}

// Operations is how often requests have performed an operation on a set, by operation and result: ok,
// missing for a row that does not exist, or the code of an error.
type Operations map[string]map[string]uint64

// Add counts an operation n times.
func (o Operations) Add(operation, result string, n uint64) {
	if o[operation] == nil {
		o[operation] = map[string]uint64{}
	}
	o[operation][result] += n
}

// Merge adds the counts of a set on another replica.
func (s *SetCounts) Merge(other *SetCounts) {
	s.Rows, s.Base = max(s.Rows, other.Rows), max(s.Base, other.Base)
	s.Changes, s.Parts, s.Bytes = s.Changes+other.Changes, s.Parts+other.Parts, s.Bytes+other.Bytes
	s.Conflicts, s.GivenUp, s.Moves = s.Conflicts+other.Conflicts, s.GivenUp+other.GivenUp, s.Moves+other.Moves
	sum := Operations{}
	for _, all := range []Operations{s.Operations, other.Operations} {
		for operation, results := range all {
			for result, n := range results {
				sum.Add(operation, result, n)
			}
		}
	}
	s.Operations = sum
}

// After returns what happened since an earlier reading of the same set. A count that has decreased
// has started again from 0.
func (s SetCounts) After(earlier *SetCounts) SetCounts {
	for _, n := range [][2]*int64{{&s.Conflicts, &earlier.Conflicts}, {&s.GivenUp, &earlier.GivenUp}, {&s.Moves, &earlier.Moves}} {
		*n[0] = risen(*n[1], *n[0])
	}
	later := Operations{}
	for operation, results := range s.Operations {
		for result, n := range results {
			if n = risen(earlier.Operations[operation][result], n); n > 0 {
				later.Add(operation, result, n)
			}
		}
	}
	s.Operations = later
	return s
}

func risen[N int64 | uint64](before, after N) N {
	if after < before {
		return after
	}
	return after - before
}

// EndpointCounts contains the counts of one endpoint.
type EndpointCounts struct {
	ID       string `json:"id,omitempty" doc:"ID of the endpoint"` // 16 hexadecimal digits, the same at each start; "" for no endpoint
	Endpoint string `json:"endpoint,omitempty" doc:"method and path"`
	Host     string `json:"host,omitempty" doc:"host that the endpoint is limited to"`
	If       string `json:"if,omitempty" doc:"condition of the endpoint"` // without secrets
	// Since is when the endpoint was first served, or served again after a reload had removed it:
	// in that case counting starts at 0, and the earlier counts are in Gone.
	Since    time.Time `json:"-"`
	Requests uint64    `json:"requests" doc:"requests that were answered"` // the sum of Statuses
	// Status 499 counts requests that were not answered, because the client left or the server
	// stopped; 101 counts those that became WebSocket connections. A reply that a fault spoils
	// counts with its intended status.
	Statuses map[int]uint64 `json:"statuses" doc:"responses by status; 499 if the client left before the response"`
	In       uint64         `json:"bytes_in" doc:"bytes of request bodies"`
	Out      uint64         `json:"bytes_out" doc:"bytes of response bodies"` // as far as faults let them through
	// In Faults, "failure" is an injected 500, and "timeout" is an injected 504.
	Faults   map[string]uint64 `json:"faults" doc:"responses with a declared fault, by fault"`
	Limited  uint64            `json:"limited" doc:"requests answered with 429 by a rate limit"`
	Refused  uint64            `json:"refused" doc:"requests answered with 503 because the queue of a capacity was full"`
	Broken   uint64            `json:"broken" doc:"answers with status 500 or above in place of what is declared"`
	Spoiled  uint64            `json:"spoiled,omitempty" doc:"answers with status 400 or above that a fault broke"`
	Rejected uint64            `json:"rejected,omitempty" doc:"answers with a status from 400 to 499 that the server gave itself"`
	Received uint64            `json:"messages_received,omitempty" doc:"WebSocket messages received"`
	Sent     uint64            `json:"messages_sent,omitempty" doc:"WebSocket messages sent"`
	// Total is from the arrival of a request until its reply was handed over to be written. Service
	// is the part of it without injected latency, its error, and Upstream.
	Total   histogram.Snapshot `json:"total" doc:"the response time"`
	Service histogram.Snapshot `json:"own" doc:"the server's own time"`
	// Upstream is of requests that waited for remote bodies, or were passed on to an upstream;
	// Fetched is the part of it for remote bodies.
	Upstream     histogram.Snapshot `json:"upstream" doc:"the wait for bodies from URLs"`
	Fetched      histogram.Snapshot `json:"-"`
	UpstreamWait histogram.Snapshot `json:"upstream_wait,omitzero" doc:"the wait for a free connection to an upstream, of requests that had to wait"`
	// Injected includes the wait in the queue of a capacity.
	Injected       histogram.Snapshot `json:"injected" doc:"the declared latency"`
	InjectionError histogram.Snapshot `json:"injection_error" doc:"how much later than the declared latency the responses were ready"`
	StreamCounts
	// Declared is the declaration of the endpoint; nil for a WebSocket, and for counts that belong
	// to no endpoint.
	Declared *item.Endpoint `json:"-"`
}

// Counts reads the counters. The result must not be changed: readings share whatever did not change
// between them. The fields that the recorder does not count, such as Connections and Sets, are left
// empty.
func (r *Recorder) Counts() Counts {
	c := Counts{Time: time.Now(), Started: r.begun, Arrivals: r.Arrivals.Read(r.rings, time.Since(r.begun))}
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
		c.Endpoints[i].Declared, c.Endpoints[i].Factor = t.declared, t.factor()
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
	later.Ends = rose(earlier.Ends, c.Ends)
	for i, l := range earlier.durations() {
		*later.durations()[i] = c.durations()[i].Since(*l)
	}
	return later
}

// Served returns the number of requests, of WebSocket messages and of items of streams.
func (c *EndpointCounts) Served() uint64 { return c.Requests + c.Received + c.Sent + c.Items }

// DeclaredFaults returns the faults without those that are counted as injected errors.
func (c *EndpointCounts) DeclaredFaults() map[string]uint64 {
	faults := rose(nil, c.Faults)
	delete(faults, "failure")
	delete(faults, "timeout")
	return faults
}

// plain returns the counts that are single numbers.
func (c *EndpointCounts) plain() [15]*uint64 {
	s := c.StreamCounts.plain()
	return [...]*uint64{
		&c.Requests, &c.In, &c.Out, &c.Limited, &c.Refused, &c.Broken, &c.Spoiled, &c.Rejected, &c.Received, &c.Sent,
		s[0], s[1], s[2], s[3], s[4],
	}
}

// durations returns the distributions, in the order of pauses, and then those of streams.
func (c *EndpointCounts) durations() [waitKinds + streamTimes]*histogram.Snapshot {
	s := c.StreamCounts.durations()
	return [...]*histogram.Snapshot{&c.Injected, &c.InjectionError, &c.Service, &c.Upstream, &c.Fetched, &c.UpstreamWait, &c.Total, s[0], s[1], s[2], s[3]}
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
		for end, n := range c.Ends {
			total.end(end, n)
		}
		total.Factor = max(total.Factor, c.Factor)
	}
	for i, into := range total.durations() {
		*into = histogram.Sum(func(yield func(histogram.Snapshot) bool) {
			for _, c := range all {
				if l := c.durations()[i]; l.Count > 0 && !yield(*l) {
					return
				}
			}
		})
	}
	return total
}
