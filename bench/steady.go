package bench

import (
	"fmt"
	"math"
	"time"

	"mockserver/config"
	"mockserver/internal/wording"
)

// longestWait is the longest latency that is measured: a round, which may be as short as
// 50 ms, has to contain several requests.
const longestWait = 20 * time.Millisecond

// unsteady says why the answers of an endpoint vary under load, so that they cannot be
// compared with one expected answer; "" if they do not vary. connections is the number of
// concurrent requests.
func unsteady(e *config.Endpoint, connections int) string {
	if l := e.RateLimit; l != nil {
		most, window := l.Max, l.Window
		if most == 0 {
			most = config.DefaultMaxRequests
		}
		if window == 0 {
			window = config.DefaultWindow
		}
		return fmt.Sprintf("its rate-limit answers 429 to what is above %s in %v", wording.Count(most, "request"), window)
	}
	if c := e.Capacity; c != nil && c.Concurrent+c.Queue < connections {
		return fmt.Sprintf("its capacity has room for %s, and answers 503 to others of %d connections; --connections %d is few enough",
			wording.Count(c.Concurrent+c.Queue, "request"), connections, c.Concurrent+c.Queue)
	}
	status := 0
	for _, o := range likely(e) {
		if why := unsteadyOutcome(&o); why != "" {
			return why
		}
		s := statusOf(&o.Response)
		if status == 0 {
			status = s
		}
		if s != status {
			return fmt.Sprintf("its responses have different statuses (%d and %d)", status, s)
		}
	}
	return ""
}

func unsteadyOutcome(o *config.Outcome) string {
	if f := o.Fault; f != nil && f.EffectiveRate() > 0 {
		return fmt.Sprintf("a fault (%s) happens to its answers", f.Type)
	}
	l := o.Latency
	switch {
	case l == nil:
	case l.FailureRate > 0:
		return "failure-rate answers 500 to some requests"
	case l.TimeoutRate > 0:
		return "timeout-rate answers 504 to some requests"
	case longest(l) > longestWait:
		return fmt.Sprintf("its latency of up to %v decides how much is answered, and not this machine; at most %v is measured",
			longest(l).Round(time.Millisecond), longestWait)
	}
	return ""
}

// likely returns the outcomes that a request may have, each with its latency and fault: the
// one response, or those of responses that can be chosen.
func likely(e *config.Endpoint) []config.Outcome {
	if len(e.Responses) == 0 {
		return []config.Outcome{{Response: e.Response, Latency: e.Latency, Fault: e.Fault}}
	}
	var all []config.Outcome
	inTurn := e.Select == config.SelectSequence || e.Select == config.SelectSequenceHold
	for _, o := range e.Responses {
		if !inTurn && o.EffectiveWeight() == 0 {
			continue
		}
		if o.Latency == nil {
			o.Latency = e.Latency
		}
		if o.Fault == nil {
			o.Fault = e.Fault
		}
		all = append(all, o)
	}
	return all
}

func statusOf(r *config.Response) int {
	if r.Status == 0 {
		return 200
	}
	return r.Status
}

// longest is the longest wait of a latency; for a lognormal one, one in ten thousand requests
// waits longer.
func longest(l *config.Latency) time.Duration {
	switch {
	case l == nil:
		return 0
	case len(l.Curve) > 0:
		return l.Curve[len(l.Curve)-1].Length
	case l.Median > 0:
		const deviations = 3.719 // of p99.99
		return time.Duration(min(float64(l.Median)*math.Exp(deviations*l.Sigma), float64(24*time.Hour)))
	}
	return l.Max
}

// bounded says what bounds the requests/s of an endpoint besides the machine; "" for nothing.
func bounded(e *config.Endpoint) string {
	wait := time.Duration(0)
	for _, o := range likely(e) {
		wait = max(wait, longest(o.Latency))
	}
	switch {
	case wait > 0:
		return fmt.Sprintf("its requests wait up to %v (latency), which bounds requests/s; CPU time holds", wait.Round(10*time.Microsecond))
	case e.Capacity != nil:
		return fmt.Sprintf("%d of its requests are served at once (capacity), the others wait", e.Capacity.Concurrent)
	}
	return ""
}
