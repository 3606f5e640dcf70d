package record

import (
	"slices"
	"time"

	"mockserver/config"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// StatusLeft is counted of a request whose client left before it was answered, as nginx
// logs it.
const StatusLeft = 499

// Trace is what became of a request, as far as it is recorded.
type Trace struct {
	Counters *Counters     // of the endpoint; nil for none
	Endpoint string        // its name; "" until it is known
	Fault    string        // one of config.FaultTypes; "" for none
	Limited  bool          // by a rate limit
	Refused  bool          // by a capacity
	Instead  string        // the code of what a latency had it answered; "" for nothing
	Declared time.Duration // the latency that was drawn for it, and its wait for a place
	Waited   time.Duration // of that, what was not over before it was served
	Late     time.Duration // by how much more
	Timed    bool          // there was a latency, and it is over
}

// Waits counts a wait for a place.
func (c *Trace) Waits(d time.Duration) {
	c.Declared += d
	c.Waited += d
}

// isStreamed reports whether a fault sends the body in pieces, or a piece of it.
func (c *Trace) isStreamed(in *matcher.Input, p *reply.Reply) bool {
	return (c.Fault == "slow-body" || c.Fault == "truncate") && len(p.Body) > 0 && string(in.Method) != "HEAD"
}

// sent is how many bytes of the body of a reply are to be sent.
func (c *Trace) sent(in *matcher.Input, p *reply.Reply) int {
	switch {
	case string(in.Method) == "HEAD":
		return 0
	case c.Fault == "" || c.Fault == "slow-body":
		return len(p.Body)
	case c.Fault == "truncate":
		return len(p.Body) / 2
	}
	return 0
}

// count counts what is remarkable of a request beside its answer.
func (c *Trace) count(p *reply.Reply, counts *Shard, status int) {
	if c.Fault != "" {
		counts.faults[slices.Index(config.FaultTypes, c.Fault)].Add(1)
	}
	switch {
	case c.Limited:
		counts.limited.Add(1)
	case c.Refused:
		counts.refused.Add(1)
	case c.Instead == reply.InjectedFailure.Code:
		counts.faults[failureNumber].Add(1)
	case c.Instead == reply.InjectedTimeout.Code:
		counts.faults[timeoutNumber].Add(1)
	case c.Counters != nil && status >= 500 && p.Refusal != nil:
		counts.broken.Add(1)
	}
	if c.Declared > 0 || c.Timed {
		p := counts.pauses()
		p.injected.Add(c.Declared)
		if c.Timed {
			p.late.Add(c.Late)
		}
	}
}

// remark says why the journal is to have the request, whatever it samples.
func (c *Trace) remark(p *reply.Reply, unmatched bool, status int) Kept {
	switch {
	case unmatched:
		return Unmatched
	case status >= 500 || c.Fault != "" || p.Refusal != nil:
		return Failed
	}
	return ""
}
