package record

import (
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
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

// Codes of what a latency has a request answered in place of its answer.
const (
	InjectedFailure = "injected_failure"
	InjectedTimeout = "injected_timeout"
)

// Waits counts a wait for a place.
func (c *Trace) Waits(d time.Duration) {
	c.Declared += d
	c.Waited += d
}

// sent is how many bytes of the body are to be sent.
func (c *Trace) sent(ctx *fasthttp.RequestCtx) int {
	resp := &ctx.Response
	n := 0
	switch {
	case ctx.IsHead():
	case resp.IsBodyStream():
		n = resp.Header.ContentLength()
	default:
		n = len(resp.Body())
	}
	if c.Fault == "" || c.Fault == "slow-body" {
		return n
	}
	if c.Fault == "truncate" {
		return n / 2
	}
	return 0
}

// count counts what is remarkable of a request beside its answer.
func (c *Trace) count(ctx *fasthttp.RequestCtx, counts *Shard, status int) {
	if c.Fault != "" {
		counts.faults[slices.Index(config.FaultTypes, c.Fault)].Add(1)
	}
	switch {
	case c.Limited:
		counts.limited.Add(1)
	case c.Refused:
		counts.refused.Add(1)
	case c.Instead == InjectedFailure:
		counts.faults[failureNumber].Add(1)
	case c.Instead == InjectedTimeout:
		counts.faults[timeoutNumber].Add(1)
	case c.Counters != nil && status >= 500 && RefusalOf(ctx) != nil:
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
func (c *Trace) remark(ctx *fasthttp.RequestCtx, unmatched bool, status int) Kept {
	switch {
	case unmatched:
		return Unmatched
	case status >= 500 || c.Fault != "" || RefusalOf(ctx) != nil:
		return Failed
	}
	return ""
}
