package listener

import (
	"cmp"

	"mockserver/config"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// fault is a way for an answer to go wrong: see wire.
type fault struct {
	kind string  // one of config.FaultTypes
	rate float64 // of the requests
	pace int     // bytes a second of a slow body
}

func newFault(f *config.Fault) *fault {
	if f == nil {
		return nil
	}
	made := &fault{kind: f.Type, rate: f.EffectiveRate()}
	if f.Type == wire.Slow {
		made.pace = cmp.Or(f.BytesPerSecond, config.DefaultBytesPerSecond)
	}
	return made
}

// strikes draws whether a request has the fault; none never strikes.
func (f *fault) strikes(random *matcher.Random) bool {
	return f != nil && (f.rate >= 1 || random.Float64() < f.rate)
}

// strike has the fault happen to the answer that the request has by now. What is added
// to its headers afterwards is of the answer too. It reports whether the place that the
// request holds is left once the answer is sent; else the caller has to leave it.
func (f *fault) strike(c *call, held *capacity) (leaves bool) {
	if !c.peer.isAlone() {
		return false // in a test; or it came with others before a reload, whose answers would go wrong with it
	}
	c.fault, c.trace.Fault = f, f.kind
	switch {
	case c.isStreamed():
		c.held = held
		return true
	case f.kind != wire.Slow: // there may be nothing to be slow with
		c.peer.spoil(f)
	}
	return false
}
