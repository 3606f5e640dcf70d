package compile

import (
	"time"

	"mockserver/config/item"
	"mockserver/listener/compile/traffic"
	"mockserver/renderer/stream"
)

// pacing is when the items of a stream are due, apart from its distributions.
type pacing struct {
	Most   int            // an endless stream ends after so many items; 0 for no limit
	Clock  *traffic.Clock // of the streams that share a rate; nil for none
	Demand float64        // the items a second that the stream wants to send, by that clock
}

// mostWithoutLatency is how many items an endless stream sends without latencies.
const mostWithoutLatency = 100

// pace completes the pacing of a stream.
func (c *Compiler) pace(s *Stream) {
	if c.NoLatency {
		s.First, s.Gap, s.Afters, s.Shared = nil, nil, nil, 0
		if s.Endless {
			s.Most = mostWithoutLatency
		}
	}
	if s.Shared == 0 {
		return
	}
	if s.Demand = s.Shared; s.Gap != nil {
		s.Demand = 1 / mean(s.Gap).Seconds()
	}
}

// mean returns the mean of a distribution, but at least a microsecond.
func mean(lengths Lengths) time.Duration {
	const parts = 1000
	sum := time.Duration(0)
	for i := range parts {
		sum += lengths((float64(i) + 0.5) / parts)
	}
	return max(sum/parts, time.Microsecond)
}

// share gives the streams of an endpoint that share the same rate one clock.
func (a *Response) share(clock func(rate float64) *traffic.Clock) {
	clocks := map[float64]*traffic.Clock{}
	a.may(func(a *Response) bool {
		if s := a.Stream; s != nil && s.Shared > 0 {
			if clocks[s.Shared] == nil {
				clocks[s.Shared] = clock(s.Shared)
			}
			s.Clock = clocks[s.Shared]
		}
		return false
	})
}

// Step returns the time from an item to the next one. part says where that is in the distribution.
func (s *Stream) Step(before, next *stream.Item, part float64) time.Duration {
	lengths := s.Gap
	if next.After >= 0 && s.Afters != nil {
		lengths = s.Afters[next.After]
	}
	switch {
	case before.With == item.WithNext || next.With == item.WithPrevious:
		return 0
	case lengths != nil:
		return lengths(part)
	case s.Clock != nil:
		return time.Duration(float64(time.Second) / s.Demand)
	}
	return 0
}
