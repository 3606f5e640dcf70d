package traffic

import (
	"time"

	"mockserver/config/item"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
)

// LatencyError states how closely the latency of an endpoint was met: how much later than declared
// its responses were ready to be written, over all responses since the current declaration of the
// endpoint took effect. No response is early. LatencyError is a copy of the counts.
type LatencyError struct {
	Endpoint string // "GET /users/:id"
	Host     string // host that the endpoint is declared for; "" means any
	Count    uint64 // number of responses
	Mean     time.Duration
	Max      time.Duration

	lengths histogram.Snapshot
}

// Quantile returns the error that the given part of the responses, from 0 to 1, did not exceed. It
// is accurate to 1%, and is 0 without responses. Only Max reports errors above 73 minutes.
func (e *LatencyError) Quantile(part float64) time.Duration { return e.lengths.Quantile(part) }

// LatencyError returns the latency error of an endpoint. It reports false if no response of the
// endpoint had to wait.
func (r *Rules) LatencyError(e *item.Endpoint) (LatencyError, bool) {
	if r == nil || r.counts == nil {
		return LatencyError{}, false
	}
	h := r.counts.late.Load()
	if h == nil {
		return LatencyError{}, false
	}
	late := LatencyError{Endpoint: record.Name(e), Host: e.Host}
	h.Read(&late.lengths)
	late.Count, late.Mean, late.Max = late.lengths.Count, late.lengths.Mean(), late.lengths.Max
	return late, true
}
