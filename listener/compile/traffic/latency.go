package traffic

import (
	"cmp"
	"time"

	"mockserver/config/policy"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Latency defines the time from the arrival of a request to its response, and how often the
// response is an error instead.
type Latency struct {
	length  func(part float64) time.Duration // nil if there are only rates
	failure float64                          // share of requests answered with 500
	timeout float64                          // share of requests answered with 504 after limit
	limit   time.Duration
	// The replies to requests that fail or time out.
	failing, timedOut *reply.Preset
}

// NewLatency compiles a latency; the result is nil if l is nil. The name identifies what the
// latency is declared for.
func NewLatency(l *policy.Latency, name string) *Latency {
	if l == nil {
		return nil
	}
	compiled := &Latency{failure: l.FailureRate, timeout: l.TimeoutRate, length: l.Lengths(), limit: cmp.Or(l.Timeout, policy.DefaultLatencyTimeout)}
	message := "the latency of " + name + " declares that some requests fail like this"
	compiled.failing, compiled.timedOut = reply.InjectedFailure.Preset(message), reply.InjectedTimeout.Preset(message)
	return compiled
}

// Wait is the latency drawn for a request.
type Wait struct {
	Length  time.Duration
	Timed   bool          // the request waits for a length of time
	Instead *reply.Preset // the reply to send; nil for the endpoint's own reply
}

// Draw draws how long a request waits and whether it fails. If l is nil, the request does neither.
func (l *Latency) Draw(random *matcher.Random) Wait {
	if l == nil {
		return Wait{}
	}
	w := Wait{Timed: l.length != nil}
	if l.failure > 0 || l.timeout > 0 {
		switch fate := random.Float64(); {
		case fate < l.failure:
			w.Instead = l.failing
		case fate < l.failure+l.timeout:
			return Wait{Length: l.limit, Timed: true, Instead: l.timedOut}
		}
	}
	if w.Timed {
		w.Length = l.length(random.Float64())
	}
	return w
}
