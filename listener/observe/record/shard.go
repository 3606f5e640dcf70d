package record

import (
	"sync/atomic"

	"mockserver/config/policy"
	"mockserver/internal/histogram"
)

// Shard is the part of the counters of an endpoint that some connections share.
type Shard struct {
	// The fields that every request adds to come first, so that most of them share a cache line.
	in, out  atomic.Uint64             // bytes of bodies
	statuses [statusesKept]statusCount // in the order of their first reply
	others   atomic.Pointer[[otherStatuses]atomic.Uint64]
	faults   [timeoutNumber + 1]atomic.Uint64
	limited  atomic.Uint64 // 429 replies due to a rate limit
	refused  atomic.Uint64 // 503 replies due to a capacity
	spoiled  atomic.Uint64 // see EndpointCounts.Spoiled
	broken   atomic.Uint64 // undeclared replies of 500 and above, see EndpointCounts.Broken
	rejected atomic.Uint64 // replies of 400 to 499 of the server's own, see EndpointCounts.Rejected
	received atomic.Uint64 // WebSocket messages received
	sent     atomic.Uint64
	service  histogram.Histogram // the server's own time for requests that did not wait
	waits    atomic.Pointer[pauses]
	streams  atomic.Pointer[StreamShard]
	_        [64]byte // keeps other counters out of the last cache line
}

// pauses holds the measurements of requests that waited: for injected latency, in the queue of a
// capacity, or for an upstream.
type pauses [waitKinds]histogram.Histogram

// The measurements in pauses.
const (
	waitInjected = iota // the declared latency, and the wait in a queue
	waitLate            // how much later than injected the replies were
	waitOwn             // the server's own time
	waitUpstream        // the wait for an upstream
	waitFetched         // the part of upstream for bodies from URLs
	waitPlace           // the wait for a place at an upstream
	waitTotal           // the response time
	waitKinds
)

// statusCount counts the replies with one status; status 0 means that the slot is unused.
type statusCount struct {
	status atomic.Uint32
	n      atomic.Uint64
}

const (
	// statusesKept is how many statuses have a counter from the start. The few endpoints with more
	// statuses get a counter for every status.
	statusesKept  = 6
	firstStatus   = 100
	otherStatuses = 500 // number of statuses, from firstStatus on
)

// The numbers of the faults that are counted: those of policy.FaultTypes, followed by these.
const (
	failureNumber = 7 // injected 500
	timeoutNumber = 8 // injected 504
)

// countReply counts a reply and returns how many replies have had its status.
func (c *Shard) countReply(status, in, out int) uint64 {
	if in > 0 {
		c.in.Add(uint64(in))
	}
	if out > 0 {
		c.out.Add(uint64(out))
	}
	return c.status(uint32(status)).Add(1)
}

// status returns the counter of a status.
func (c *Shard) status(status uint32) *atomic.Uint64 {
	for i := range c.statuses {
		s := &c.statuses[i]
		known := s.status.Load()
		if known == status || known == 0 && s.status.CompareAndSwap(0, status) || s.status.Load() == status {
			return &s.n
		}
	}
	all := c.others.Load()
	if all == nil {
		c.others.CompareAndSwap(nil, new([otherStatuses]atomic.Uint64))
		all = c.others.Load()
	}
	return &all[min(max(int(status)-firstStatus, 0), otherStatuses-1)]
}

// pauses returns the measurements of requests that waited.
func (c *Shard) pauses() *pauses {
	p := c.waits.Load()
	if p == nil {
		c.waits.CompareAndSwap(nil, new(pauses))
		p = c.waits.Load()
	}
	return p
}

// MessageIn counts a message that was received on a WebSocket, with its bytes.
func (c *Shard) MessageIn(bytes int) {
	c.in.Add(uint64(bytes))
	c.received.Add(1) // last, see stamp
}

// MessageOut counts a message that was sent on a WebSocket, with its bytes.
func (c *Shard) MessageOut(bytes int) {
	c.out.Add(uint64(bytes))
	c.sent.Add(1)
}

// each calls do for each status.
func (c *Shard) each(do func(status int, n uint64)) {
	for i := range c.statuses {
		if n := c.statuses[i].n.Load(); n > 0 {
			do(int(c.statuses[i].status.Load()), n)
		}
	}
	if all := c.others.Load(); all != nil {
		for i := range all {
			if n := all[i].Load(); n > 0 {
				do(i+firstStatus, n)
			}
		}
	}
}

// stamp returns a different number once anything has been counted: a request's status, and the
// numbers of messages and of items, are counted last.
func (c *Shard) stamp() uint64 {
	n := c.received.Load() + c.sent.Load() + c.streams.Load().stamp()
	c.each(func(_ int, replies uint64) { n += replies })
	return n
}

// plain returns the counters that are single numbers, in the order of EndpointCounts.plain after the first one.
func (c *Shard) plain() [9]*atomic.Uint64 {
	return [...]*atomic.Uint64{&c.in, &c.out, &c.limited, &c.refused, &c.broken, &c.spoiled, &c.rejected, &c.received, &c.sent}
}

// merge adds the counters of m, which no longer change.
func (c *Shard) merge(m *Shard) {
	m.each(func(status int, n uint64) { c.status(uint32(status)).Add(n) })
	for i := range m.faults {
		c.faults[i].Add(m.faults[i].Load())
	}
	for i, n := range m.plain() {
		c.plain()[i].Add(n.Load())
	}
	c.service.Merge(&m.service)
	if p := m.waits.Load(); p != nil {
		into := c.pauses()
		for i := range p {
			into[i].Merge(&p[i])
		}
	}
	if s := m.streams.Load(); s != nil {
		c.stream().merge(s)
	}
}

// read adds the counters to a total.
func (c *Shard) read(total *EndpointCounts) {
	c.each(func(status int, n uint64) {
		total.Statuses[status] += n
		total.Requests += n
	})
	for i, name := range append(policy.FaultTypes[:failureNumber:failureNumber], "failure", "timeout") {
		if n := c.faults[i].Load(); n > 0 {
			total.Faults[name] += n
		}
	}
	for i, n := range c.plain() {
		*total.plain()[1+i] += n.Load()
	}
	c.service.Read(&total.Service)
	c.service.Read(&total.Total)
	if p := c.waits.Load(); p != nil {
		into := total.durations()
		for i := range p {
			p[i].Read(into[i])
		}
	}
	if s := c.streams.Load(); s != nil {
		s.read(&total.StreamCounts)
	}
}
