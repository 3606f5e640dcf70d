package record

import (
	"sync/atomic"

	"mockserver/config"
	"mockserver/internal/histogram"
)

// Shard is the counters of an endpoint in one shard.
type Shard struct {
	// What each request adds to comes first, so that most meet at one line of memory.
	in, out  atomic.Uint64             // bytes of bodies
	statuses [statusesKept]statusCount // as they come
	others   atomic.Pointer[[otherStatuses]atomic.Uint64]
	faults   [timeoutNumber + 1]atomic.Uint64
	limited  atomic.Uint64 // 429 of a rate limit
	refused  atomic.Uint64 // 503 of a capacity
	broken   atomic.Uint64 // 500 and above in place of what is declared, see EndpointCounts.Broken
	heard    atomic.Uint64 // messages of WebSocket connections
	said     atomic.Uint64
	service  histogram.Histogram // from the arrival to the answer, without what was injected
	waits    atomic.Pointer[pauses]
	_        [64]byte // counters of another do not share the last line
}

// pauses is what was injected, where something is.
type pauses struct {
	injected histogram.Histogram // what latency was declared to take, or a place of a capacity took
	late     histogram.Histogram // how much later answers were than that
}

// statusCount counts the answers of one status, once it has one.
type statusCount struct {
	status atomic.Uint32
	n      atomic.Uint64
}

const (
	// statusesKept is how many statuses an endpoint has room for at once. Few have more:
	// there is room for all of them then.
	statusesKept  = 6
	firstStatus   = 100
	otherStatuses = 500 // from firstStatus on
)

// Numbers of the faults that are counted: those of config.FaultTypes, and then these.
const (
	failureNumber = 5 // injected 500 of a latency
	timeoutNumber = 6 // injected 504
)

// faultNames are the faults by their number.
func faultNames() []string {
	return append(config.FaultTypes[:failureNumber:failureNumber], "failure", "timeout")
}

// answered counts an answer, and tells how many there were with its status.
func (c *Shard) answered(status, in, out int) uint64 {
	if in > 0 {
		c.in.Add(uint64(in))
	}
	if out > 0 {
		c.out.Add(uint64(out))
	}
	return c.status(uint32(status)).Add(1)
}

// status is the counter of a status.
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

// pauses is where what was injected is counted.
func (c *Shard) pauses() *pauses {
	p := c.waits.Load()
	if p == nil {
		c.waits.CompareAndSwap(nil, new(pauses))
		p = c.waits.Load()
	}
	return p
}

// MessageIn counts a message that a WebSocket connection has received, of so many bytes.
func (c *Shard) MessageIn(bytes int) {
	c.in.Add(uint64(bytes))
	c.heard.Add(1) // last, see stamp
}

// MessageOut counts one that was sent.
func (c *Shard) MessageOut(bytes int) {
	c.out.Add(uint64(bytes))
	c.said.Add(1)
}

// each calls do for each status that was answered.
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

// stamp is another number once anything was counted: each request is counted by its
// status last, and each message behind its bytes.
func (c *Shard) stamp() uint64 {
	n := c.heard.Load() + c.said.Load()
	for i := range c.statuses {
		n += c.statuses[i].n.Load()
	}
	if all := c.others.Load(); all != nil {
		for i := range all {
			n += all[i].Load()
		}
	}
	return n
}

// merge adds what m has, which does not change any more.
func (c *Shard) merge(m *Shard) {
	m.each(func(status int, n uint64) { c.status(uint32(status)).Add(n) })
	for i := range m.faults {
		c.faults[i].Add(m.faults[i].Load())
	}
	c.in.Add(m.in.Load())
	c.out.Add(m.out.Load())
	c.limited.Add(m.limited.Load())
	c.refused.Add(m.refused.Load())
	c.broken.Add(m.broken.Load())
	c.heard.Add(m.heard.Load())
	c.said.Add(m.said.Load())
	c.service.Merge(&m.service)
	if p := m.waits.Load(); p != nil {
		into := c.pauses()
		into.injected.Merge(&p.injected)
		into.late.Merge(&p.late)
	}
}

// read adds what the counters have to a total.
func (c *Shard) read(total *EndpointCounts) {
	c.each(func(status int, n uint64) {
		total.Statuses[status] += n
		total.Requests += n
	})
	for i, name := range faultNames() {
		if n := c.faults[i].Load(); n > 0 {
			total.Faults[name] += n
		}
	}
	total.In += c.in.Load()
	total.Out += c.out.Load()
	total.Limited += c.limited.Load()
	total.Refused += c.refused.Load()
	total.Broken += c.broken.Load()
	total.Received += c.heard.Load()
	total.Sent += c.said.Load()
	c.service.Read(&total.Service)
	if p := c.waits.Load(); p != nil {
		p.injected.Read(&total.Injected)
		p.late.Read(&total.InjectionError)
	}
}
