package admin

import (
	"time"

	"mockserver/listener"
)

// Sample is what happened in a stretch of time: a second, the window of the verdict,
// or a whole run. Lengths of time are in milliseconds. What the system does not tell is nil.
type Sample struct {
	Time    time.Time `json:"time"` // of its end
	Seconds float64   `json:"seconds"`

	Requests uint64  `json:"requests"`
	Rate     float64 `json:"rate"`   // requests a second
	Errors   uint64  `json:"errors"` // answers of 500 and above
	ErrorKinds
	Unmatched uint64 `json:"unmatched"`
	Faults    uint64 `json:"faults"`
	Limited   uint64 `json:"limited"` // answered 429 by a rate limit
	Refused   uint64 `json:"refused"` // answered 503 by a capacity
	In        uint64 `json:"bytes_in"`
	Out       uint64 `json:"bytes_out"`

	Connections int   `json:"connections"` // at its end
	InFlight    int64 `json:"in_flight"`   // requests at its end

	Own            Spread  `json:"own"`             // service time without what was injected
	Injected       Spread  `json:"injected"`        // what latency was declared to take
	InjectionError Spread  `json:"injection_error"` // how much later than declared
	shortest       float64 // declared latency, but for one answer in a hundred

	WebhookLag      Spread `json:"webhook_lag"` // of first attempts
	WebhooksSent    int64  `json:"webhooks_sent"`
	WebhooksDead    int64  `json:"webhooks_dead"`
	WebhooksRefused int64  `json:"webhooks_refused"`
	WebhooksPending int64  `json:"webhooks_pending"` // at its end
	WebhooksDue     int64  `json:"webhooks_due"`     // of those, that wait for a worker

	Scheduler Spread `json:"scheduler"` // how long goroutines that could run waited
	Pauses    Spread `json:"pauses"`    // of the collector
	// Stall is for how long the process stood still at a time, to within 50 ms.
	Stall float64 `json:"stall"`

	Load
}

// ErrorKinds are answers of 500 and above by who made them. Those of a capacity, and of
// unmatched requests with --unmatched-status, are none of these: they are counted as such.
type ErrorKinds struct {
	DeclaredErrors uint64 `json:"errors_declared"` // the status of a response or an outcome
	InjectedErrors uint64 `json:"errors_injected"` // failures and time-outs of a latency
	OwnErrors      uint64 `json:"errors_own"`      // in place of what is declared: a body that cannot be had, an internal error
}

// errorKindsOf tells the errors of an endpoint apart.
func errorKindsOf(c *listener.Counted) ErrorKinds {
	kinds := ErrorKinds{InjectedErrors: c.Faults["failure"] + c.Faults["timeout"], OwnErrors: c.Broken}
	all, others := errorsOf(c), kinds.InjectedErrors+kinds.OwnErrors+c.Refused
	kinds.DeclaredErrors = all - min(all, others) // a status is counted later than what it is of
	return kinds
}

func (k ErrorKinds) plus(o ErrorKinds) ErrorKinds {
	return ErrorKinds{k.DeclaredErrors + o.DeclaredErrors, k.InjectedErrors + o.InjectedErrors, k.OwnErrors + o.OwnErrors}
}

// since is what came after an earlier reading.
func (k ErrorKinds) since(before ErrorKinds) ErrorKinds {
	return ErrorKinds{
		k.DeclaredErrors - min(k.DeclaredErrors, before.DeclaredErrors), k.InjectedErrors - before.InjectedErrors, k.OwnErrors - before.OwnErrors,
	}
}

// Load is what a process and its machine did in a stretch of time.
type Load struct {
	CPU        *float64 `json:"cpu"`         // cores that the process kept busy
	CPULimit   float64  `json:"cpu_limit"`   // cores that it may use: by its quota and GOMAXPROCS
	CPUWait    *float64 `json:"cpu_wait"`    // mean wait of its threads for a core
	Throttled  *float64 `json:"throttled"`   // time that its quota kept threads from running, summed over the CPUs
	MachineCPU *float64 `json:"machine_cpu"` // share of the machine that was busy, 0 to 1
	Steal      *float64 `json:"steal"`       // share of it that the hypervisor gave to others
	Pressure   *float64 `json:"pressure"`    // share of the time in which a task of its group waited for a core

	Memory          uint64 `json:"memory"` // bytes resident; where that is not known, taken from the system by the runtime
	Goroutines      int    `json:"goroutines"`
	Descriptors     int    `json:"descriptors"`      // open; 0 is not known
	DescriptorLimit uint64 `json:"descriptor_limit"` // 0 is none, or not known
}

// Spread is a distribution of lengths of time, in milliseconds.
type Spread struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	Max   float64 `json:"max"`
}

// quantiles is what distributions have: listener.Lengths, dispatcher.Lag.
type quantiles interface {
	Quantile(q float64) time.Duration
	Mean() time.Duration
}

// spreadOf reads a distribution.
func spreadOf(count uint64, longest time.Duration, q quantiles) Spread {
	if count == 0 {
		return Spread{}
	}
	return Spread{
		Count: count, Mean: inMS(q.Mean()), Max: inMS(longest),
		P50: inMS(q.Quantile(0.5)), P90: inMS(q.Quantile(0.9)), P99: inMS(q.Quantile(0.99)), P999: inMS(q.Quantile(0.999)),
	}
}

func spreadOfLengths(l listener.Lengths) Spread { return spreadOf(l.Count, l.Max, l) }

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// idle tells whether nothing was timed: neither a request nor a webhook.
func (s *Sample) idle() bool {
	return s.Requests == 0 && s.InFlight == 0 && s.WebhookLag.Count == 0 && s.WebhooksRefused == 0
}
