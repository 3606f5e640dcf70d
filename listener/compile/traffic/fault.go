package traffic

import (
	"math"
	"time"

	"mockserver/config/policy"
	"mockserver/matcher"
)

// Fault is a way in which a response goes wrong.
type Fault struct {
	Kind  string                 // one of policy.FaultTypes
	Speed func(part float64) int // bytes a second of a slow body, by the share of requests that do not exceed it
	// OfConnection means that a reset ends the connection, even over HTTP/2.
	OfConnection bool
	OnlyStreams  bool    // it is not applied to a reply that is not streamed
	Stalls       bool    // a stream sends nothing more, and stays open
	Replaces     bool    // it takes the place of an item of a stream
	Breaks       bool    // a stream ends so that its client notices that it is incomplete
	rate         float64 // the share of requests to which the fault is applied
	after        float64 // where in a stream it comes, in unit; see policy.Fault.Place
	unit         string
}

func newFault(f *policy.Fault, o Options) *Fault {
	if f == nil {
		return nil
	}
	n, unit := f.Place()
	return &Fault{
		Kind: f.Type, rate: f.EffectiveRate(), Speed: f.Speeds(), OfConnection: f.Of == policy.OfConnection,
		OnlyStreams: f.OnlyStreams(), Stalls: f.Type == policy.FaultStall && !o.NoLatency,
		Replaces: f.Type == policy.FaultMalformed || f.Type == policy.FaultError, Breaks: f.Type != policy.FaultStall && f.Type != policy.FaultError, after: n, unit: unit,
	}
}

// IsBeforeHead reports whether nothing of a streamed reply is sent.
func (f *Fault) IsBeforeHead() bool {
	return f.unit == "" && (f.Kind == policy.FaultReset || f.Kind == policy.FaultEmpty || f.Kind == policy.FaultMalformed)
}

// mostBeforeFault is how many items are sent before a fault if the number of all items is not known.
const mostBeforeFault = 10

// Place returns where in a stream of so many items the fault comes, -1 for an unknown number: after how many items,
// and after which time since the head. Each is the largest number if it does not count.
func (f *Fault) Place(count int) (items int, since time.Duration) {
	switch items, since = math.MaxInt, math.MaxInt64; f.unit {
	case policy.AfterItems:
		items = int(f.after)
	case policy.AfterPercent:
		items = int(float64(count) * f.after / 100)
	case policy.AfterTime:
		since = time.Duration(f.after)
	default:
		if items = count / 2; count < 0 {
			items = mostBeforeFault
		}
	}
	if f.Kind == policy.FaultSlowBody {
		return math.MaxInt, math.MaxInt64
	}
	return items, since
}

// applies draws whether the fault is applied to a request. A nil fault is never applied.
func (f *Fault) applies(random *matcher.Random) bool {
	return f != nil && (f.rate >= 1 || random.Float64() < f.rate)
}
