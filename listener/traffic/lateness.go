package traffic

import (
	"time"

	"mockserver/config"
	"mockserver/internal/histogram"
	"mockserver/listener/record"
)

// LatencyError is how well the latency of an endpoint was met: how much later than
// declared its answers were ready to be written, of all since it is declared as it is.
// No answer is earlier. It is a copy.
type LatencyError struct {
	Endpoint string // "GET /users/:id"
	Host     string // that the endpoint is declared for; "" for any
	Count    uint64 // of answers
	Mean     time.Duration
	Max      time.Duration

	lengths histogram.Snapshot
}

// Quantile is the error that a part of the answers, from 0 to 1, did not exceed, within
// 1%; 0 when there was none. Errors above 73 minutes are told by Max alone.
func (e *LatencyError) Quantile(part float64) time.Duration { return e.lengths.Quantile(part) }

// LatencyError is that of an endpoint. It reports false if none of its answers had to wait.
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
