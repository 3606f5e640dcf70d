package serve

import (
	"math"
	"time"

	"mockserver/config/policy"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// spoiling is how a fault spoils a streamed reply, and what is left of an item that is sent in two parts.
type spoiling struct {
	most     int       // how many items are sent before the fault
	faultAt  time.Time // when it comes; zero if time does not matter
	speed    int       // bytes a second of a slow body; 0 for any other reply
	free     time.Time // when that has room for more
	stalled  bool      // nothing more is sent
	second   []byte    // the second part of an item
	secondAt time.Time // when it is due
}

// stallMaximum is how long a stalled stream lasts, unless max-duration says so.
const stallMaximum = time.Hour

// prepare determines when the fault of a reply comes, if it has one.
func (f *flow) prepare() {
	f.most = math.MaxInt
	if f.fault == nil {
		return
	}
	var since time.Duration
	if f.most, since = f.fault.Place(f.stream.Count); since < math.MaxInt64 {
		f.faultAt = f.head.Add(since)
	}
	if f.fault.Kind == wire.Slow {
		f.speed = f.fault.Speed(f.gaps.Float64())
		f.call.Trace.Fault = f.fault.Kind
	}
	if f.fault.Stalls && f.ends.IsZero() {
		f.ends = f.begun.Add(stallMaximum)
	}
}

// isFaulty reports whether the fault comes before the next item, or in its place.
func (f *flow) isFaulty(now time.Time) bool {
	return f.sent.Items >= f.most || !f.faultAt.IsZero() && !now.Before(f.faultAt)
}

// applyFault makes a fault happen that comes between two items, and reports whether it ends the reply.
func (f *flow) applyFault(now time.Time) (ends bool) {
	if f.stalled || f.bare || f.whole || !f.isFaulty(now) || f.fault.Replaces {
		return false
	}
	f.call.Trace.Fault = f.fault.Kind
	if f.stalled = f.fault.Stalls; f.stalled {
		f.leaveClock()
	}
	return !f.stalled
}

// leaveClock takes the reply from the streams that share a rate.
func (f *flow) leaveClock() {
	if f.clock != nil && f.sent.Items > 0 {
		f.clock.Leave(f.stream.Demand)
	}
	f.clock = nil
}

// spoil ends the reply with the item that was appended to b since begin: what the fault sends instead of one, or one
// that is cut in its middle.
func (f *flow) spoil(b []byte, begin int) []byte {
	f.sent.End = record.EndFault
	f.call.Trace.Fault = f.fault.Kind
	lost := 0
	if f.fault.Kind == policy.FaultMalformed {
		lost = (len(b) - begin + 1) / 2
		if f.coded {
			lost += len("\r\n")
		}
	}
	b = f.chunk(b, begin)
	return b[:max(len(b)-lost, begin)]
}

// cut takes from b the second part of the item that was appended since begin, if it is to be sent in two parts.
func (f *flow) cut(b []byte, begin int, now time.Time) []byte {
	if f.source.Cut == nil || f.gaps.Float64() >= f.source.Cut.Rate || len(b)-begin < 2 {
		return b
	}
	at := begin + 1 + int(f.gaps.Float64()*float64(len(b)-begin-1))
	f.second = append(f.second[:0], b[at:]...)
	f.secondAt = now.Add(f.source.Cut.Pause)
	return b[:at]
}

// appendSecond appends the second part of an item.
func (f *flow) appendSecond(b []byte, now time.Time) []byte {
	begin := len(b)
	b = append(b, f.second...)
	f.second, f.last = f.second[:0], now
	return f.chunk(b, begin)
}
