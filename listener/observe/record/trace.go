package record

import (
	"slices"
	"strconv"
	"time"

	"mockserver/config/policy"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// StatusLeft is the status of requests whose client left before they were answered; nginx logs the
// same number.
const StatusLeft = 499

// Trace is the record of what happened to one request.
type Trace struct {
	Counters *Counters     // counters of the endpoint; nil if none
	Endpoint string        // name of the endpoint; "" until it is known
	Fault    string        // one of policy.FaultTypes; "" if none
	Instead  string        // code of the failure that the latency injected; "" if none
	Declared time.Duration // the latency drawn for the request plus its wait in a queue
	Waited   time.Duration // the part of Declared that passed while it was served
	Late     time.Duration // how much longer than Declared it waited
	Upstream time.Duration // how long it waited for an upstream or a remote body
	Place    time.Duration // the part of Upstream spent waiting for a place at the upstream
	Proxied  bool          // the request was passed to an upstream, which may have failed
	Limited  bool          // answered 429 by a rate limit
	Refused  bool          // answered 503 by a capacity
	Timed    bool          // the request had a latency, which is over
	Received int           // the size of its body, in bytes, if that is no longer whole
	Streamed Streamed      // what a streamed reply sent; zero for any other reply
}

// Streamed is what a streamed reply sent, and how it ended.
type Streamed struct {
	Items int
	Bytes int           // of the items, without what frames them
	Took  time.Duration // from the arrival of the request, or from its place, to the end
	// The times from item to item by the clock that streams share, and on the wall; 0 without one.
	Clock, Wall time.Duration
	Late        time.Duration // how late a later item was at most
	Blocked     time.Duration // how long items waited for a client that did not read
	End         string        // EndComplete or another of these; "" for a reply that is not streamed
}

// How a streamed reply ends.
const (
	EndComplete    = "complete"
	EndClient      = "client"       // the client left
	EndFault       = "fault"        // a declared fault ended it
	EndMaxDuration = "max-duration" // it lasted as long as it may
	EndStopped     = "stopped"      // the server stopped
	EndUpstream    = "upstream"     // its upstream failed
	EndBroken      = "broken"       // an item could not be made
)

// Waits adds a wait in the queue of a capacity.
func (c *Trace) Waits(d time.Duration) {
	c.Declared += d
	c.Waited += d
}

// Own returns the server's own part of the time that a request took.
func (c *Trace) Own(took time.Duration) time.Duration {
	return max(took-c.Waited-c.Late-c.Upstream, 0)
}

// ServerTiming returns the value of a Server-Timing field: how the time that a request has taken so
// far was spent, in milliseconds. It lists the declared latency, how long the request actually
// waited, how much longer that was than declared, how long it waited for an upstream, and the
// server's own work.
func (c *Trace) ServerTiming(took time.Duration) string {
	var value []byte
	for i, part := range [...]struct {
		name   string
		length time.Duration
	}{{"declared", c.Declared}, {"waited", c.Waited + c.Late}, {"late", c.Late}, {"upstream", c.Upstream}, {"own", c.Own(took)}} {
		if i > 0 {
			value = append(value, ", "...)
		}
		value = append(append(value, part.name...), ";dur="...)
		value = strconv.AppendFloat(value, float64(part.length)/float64(time.Millisecond), 'f', -1, 64)
	}
	return string(value)
}

// sent returns how many bytes of the body are sent.
func (c *Trace) sent(in *matcher.Input, p *reply.Reply) int {
	switch {
	case c.Streamed.End != "":
		return c.Streamed.Bytes
	case string(in.Method) == "HEAD":
		return 0
	case p.Passed != nil:
		return int(max(p.Length(), 0))
	case c.Fault == "" || c.Fault == policy.FaultSlowBody:
		return len(p.Sent(false))
	case c.Fault == policy.FaultTruncate:
		return len(p.Sent(false)) / 2
	}
	return 0
}

// count counts the fault of a reply, and a reply that a rate limit, a capacity, an injected failure
// or an error of the server has caused.
func (c *Trace) count(p *reply.Reply, counts *Shard, status int) {
	if c.Fault != "" {
		counts.faults[slices.Index(policy.FaultTypes, c.Fault)].Add(1)
		if status >= 400 && c.Fault != policy.FaultSlowBody {
			counts.spoiled.Add(1)
		}
	}
	switch {
	case c.Limited:
		counts.limited.Add(1)
	case c.Refused:
		counts.refused.Add(1)
	case c.Instead == "" && (status < 400 || p.Refusal == nil): // nearly all requests
	case c.Instead == reply.InjectedFailure.Code:
		counts.faults[failureNumber].Add(1)
	case c.Instead == reply.InjectedTimeout.Code:
		counts.faults[timeoutNumber].Add(1)
	case c.Counters == nil || p.Refusal == nil:
	case status >= 500:
		counts.broken.Add(1)
	case c.Instead == "":
		counts.rejected.Add(1)
	}
}

// time counts how long a request took: took is the whole time, and own is the time that the
// server's own work took.
func (c *Trace) time(counts *Shard, took, own time.Duration) {
	if c.Declared == 0 && !c.Timed && c.Upstream == 0 {
		counts.service.Add(own)
		return
	}
	p := counts.pauses()
	late := max(took-c.Waited, 0)
	p[waitOwn].Add(own)
	p[waitTotal].Add(c.Declared + late)
	if c.Upstream > 0 {
		p[waitUpstream].Add(c.Upstream)
		if !c.Proxied {
			p[waitFetched].Add(c.Upstream)
		}
	}
	if c.Place > 0 {
		p[waitPlace].Add(c.Place)
	}
	if c.Declared > 0 || c.Timed {
		p[waitInjected].Add(c.Declared)
	}
	if c.Timed {
		p[waitLate].Add(late)
	}
}

// remark returns the reason why the journal keeps the request even if it is not sampled, or "" if
// there is none.
func (c *Trace) remark(p *reply.Reply, unmatched bool, status int) Kept {
	switch {
	case unmatched:
		return Unmatched
	case status >= 500 || c.Fault != "" || p.Refusal != nil:
		return Failed
	}
	return ""
}
