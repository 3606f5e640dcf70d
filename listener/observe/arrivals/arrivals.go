// Package arrivals describes when requests arrived: what the load generator did.
//
// A request adds to the Ring of its lane, which counts arrivals by time. About once a second, a
// Series reads the rings, and makes Figures of what it finds.
package arrivals

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

const (
	cell  = 250 * time.Microsecond // arrivals in it are counted together
	cells = 1 << 13                // of a ring: about 2 s
	// UnderWay stands for the time of a response that is not made yet.
	UnderWay = time.Duration(math.MaxInt64)
)

// Ring counts the arrivals of the connections of one lane, from any number of goroutines. The zero
// value is ready to use.
type Ring struct {
	first       atomic.Uint64
	overlapping atomic.Uint64
	idle        histogram.Histogram
	cells       [cells]atomic.Uint32 // each counts on when the ring has gone round
}

// Arrive counts a request that arrived at a time. last is when the response before it on the same
// connection was made: 0 for none, UnderWay for not yet. Both are times since the recorder began.
func (r *Ring) Arrive(at, last time.Duration) {
	r.cells[uint64(at/cell)%cells].Add(1)
	switch {
	case last == 0:
		r.first.Add(1)
	case last >= at:
		r.overlapping.Add(1)
	default:
		r.idle.Add(at - last)
	}
}

// Figures describes all arrivals since the recorder began.
type Figures struct {
	Requests    uint64             // that arrived
	First       uint64             // that were the first of their connection
	Overlapping uint64             // that came while a response of their connection was under way
	Idle        histogram.Snapshot // how long connections were idle between a response and the next request
	Errors      histogram.Snapshot // see tracking
	Distributions
}

// Distributions contains distributions of arrivals.
type Distributions struct {
	Dispersion histogram.Snapshot `json:"dispersion" doc:"indices of dispersion of the arrivals in 10 ms, one for each 250 ms; a millisecond stands for 1"`
	Gaps       histogram.Snapshot `json:"gaps" doc:"times of a millisecond or longer without an arrival, between two arrivals"`
	Bursts     histogram.Snapshot `json:"bursts" doc:"arrivals in 10 ms; a nanosecond stands for a request"`
	Stops      histogram.Snapshot `json:"stops" doc:"gaps of 40 ms or longer in which 20 or more requests were expected; in a run, those that the load generator made"`
}

// All returns the distributions in the order of the fields.
func (d *Distributions) All() [4]*histogram.Snapshot {
	return [...]*histogram.Snapshot{&d.Dispersion, &d.Gaps, &d.Bursts, &d.Stops}
}

// Since returns what has arrived since an earlier reading.
func (d Distributions) Since(earlier *Distributions) Distributions {
	for i, l := range d.All() {
		*l = l.Since(*earlier.All()[i])
	}
	return d
}

// Add adds the arrivals at another replica.
func (d *Distributions) Add(other *Distributions) {
	for i, l := range d.All() {
		*l = histogram.Sum(slices.Values([]histogram.Snapshot{*l, *other.All()[i]}))
	}
}
