package listener

import (
	"time"

	"mockserver/internal/histogram"
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

// LatencyErrors tells of each endpoint with a latency that has answered, in the order
// of the specification, how well that was met. It keeps counting over a reload for
// endpoints that are declared as before.
func (s *Server) LatencyErrors() []LatencyError {
	sn := s.snapshot.Load()
	var all []LatencyError
	for i := range sn.answers {
		b := sn.answers[i].behaviour
		if b == nil || b.tally == nil { // nothing is counted of it
			continue
		}
		if h := b.tally.Measured(); h != nil {
			e := LatencyError{Endpoint: sn.answers[i].name, Host: b.host}
			h.Read(&e.lengths)
			e.Count, e.Mean, e.Max = e.lengths.Count, e.lengths.Mean(), e.lengths.Max
			all = append(all, e)
		}
	}
	return all
}
