package traffic

import (
	"cmp"

	"mockserver/config/policy"
	"mockserver/matcher"
)

// Fault is a way in which a response goes wrong.
type Fault struct {
	Kind string // one of policy.FaultTypes
	Pace int    // bytes a second of a slow body
	// OfConnection means that a reset ends the connection, even over HTTP/2.
	OfConnection bool
	rate         float64 // the share of requests to which the fault is applied
}

func newFault(f *policy.Fault) *Fault {
	if f == nil {
		return nil
	}
	return &Fault{
		Kind: f.Type, rate: f.EffectiveRate(), Pace: cmp.Or(f.BytesPerSecond, policy.DefaultBytesPerSecond), OfConnection: f.Of == policy.OfConnection,
	}
}

// IsBeforeHead reports whether nothing of a streamed reply is sent.
func (f *Fault) IsBeforeHead() bool { return f.Kind != "truncate" && f.Kind != "slow-body" }

// applies draws whether the fault is applied to a request. A nil fault is never applied.
func (f *Fault) applies(random *matcher.Random) bool {
	return f != nil && (f.rate >= 1 || random.Float64() < f.rate)
}
