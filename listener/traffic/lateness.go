package traffic

import (
	"time"

	"mockserver/config"
	"mockserver/internal/histogram"
	"mockserver/listener/record"
)

// LatencyError is how closely the latency of an endpoint was met: how much later than declared its
// responses were ready to be written, over all responses since the current declaration of the
// endpoint took effect. No response is early. It is a copy.
type LatencyError struct {
	Endpoint string // "GET /users/:id"
	Host     string // that the endpoint is declared for; "" for any
	Count    uint64 // of responses
	Mean     time.Duration
	Max      time.Duration

	lengths histogram.Snapshot
}

// Quantile returns the error that a part of the responses, from 0 to 1, did not exceed, within 1%;
// 0 without responses. Only Max reports errors above 73 minutes.
func (e *LatencyError) Quantile(part float64) time.Duration { return e.lengths.Quantile(part) }

// LatencyError returns the latency error of an endpoint. It reports false if none of its responses
// had to wait.
func (r *Rules) LatencyError(e *config.Endpoint) (LatencyError, bool) {
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
