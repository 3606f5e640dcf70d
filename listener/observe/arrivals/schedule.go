package arrivals

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
)

// The processes that a load generator may follow.
const (
	Constant = "constant" // a request each 1/rate seconds
	Poisson  = "poisson"  // requests at random times, independent of each other
)

// Schedule is what a load generator was told to do.
type Schedule struct {
	Rate    float64 `json:"rate" doc:"requests a second"`
	Process string  `json:"process,omitempty" doc:"constant, the default, or poisson"`
}

// NewSchedule is a schedule in a request, which unlike one in a response gets no other fields.
type NewSchedule Schedule

// Part returns the part of a schedule that one of n servers sees; nil for nil. Of a Poisson process it
// is another one, of a constant rate one with n times the interval.
func (s *NewSchedule) Part(n int) *NewSchedule {
	if s == nil {
		return nil
	}
	return &NewSchedule{s.Rate / float64(n), s.Process}
}

// slowest and fastest are the lowest and the highest rate of a schedule: with fewer requests, it is not
// known when a load ends.
const slowest, fastest = 10, 10_000_000

// Problem completes a schedule, and returns what is wrong with it; "" for nothing.
func (s *Schedule) Problem() string {
	switch {
	case s == nil:
	case !(s.Rate >= slowest && s.Rate <= fastest):
		return fmt.Sprintf("schedule.rate is %v; expected a number of requests a second, from 10 to 10000000", s.Rate)
	case s.Process != "" && s.Process != Constant && s.Process != Poisson:
		return fmt.Sprintf("schedule.process is %q; expected constant or poisson", s.Process)
	default:
		s.Process = cmp.Or(s.Process, Constant)
	}
	return ""
}

// tracking compares arrivals with a schedule. With a constant rate, an error is how far a request
// arrived from when it was due; the first request is due when it arrives. For a Poisson process, it
// is how long it took until the requests of 10 ms had arrived, which Error compares with what is
// expected.
type tracking struct {
	schedule *Schedule // nil for none
	load     uint64    // the cell in which the load began
	proven   bool      // it was a load, not a single request
	begun    uint64    // the cell from which requests are counted
	count    int       // requests since then
	errors   histogram.Histogram
}

// Track makes the series compare arrivals with a schedule from now on; nil for none.
func (s *Series) Track(schedule *Schedule) {
	s.tracking.schedule = schedule
	s.restart()
}

// restart makes the next request the first of a load.
func (t *tracking) restart() { t.proven, t.count = false, 0 }

// follow compares the n arrivals of a cell with the schedule.
func (t *tracking) follow(at uint64, n int) {
	if t.schedule == nil {
		return
	}
	if !t.proven {
		switch after := time.Duration(at-t.load) * cell; {
		case t.count == 0:
			t.load, t.begun = at, at
		case after < t.schedule.trial():
		case float64(t.count) < t.schedule.Rate*after.Seconds()/2: // earlier requests were not part of the load
			t.load, t.begun, t.count = at, at, 0
		default:
			t.proven = true
		}
	}
	if t.schedule.Process == Poisson {
		t.span(at, n)
		return
	}
	for range n {
		due := time.Duration(float64(t.count) / t.schedule.Rate * float64(time.Second))
		t.errors.Add((time.Duration(at-t.begun)*cell - due).Abs())
		t.count++
	}
}

// span measures how long it takes until the requests of 10 ms have arrived.
func (t *tracking) span(at uint64, n int) {
	each := t.schedule.together()
	for range n {
		if t.count++; t.count%each == 0 {
			if t.count > each { // otherwise it is not known when the span began
				t.errors.Add(time.Duration(at-t.begun) * cell)
			}
			t.begun = at
		}
	}
}

// trial is the time in which at least half of the requests must arrive, after the first one.
func (s *Schedule) trial() time.Duration {
	return max(100*time.Millisecond, time.Duration(20/s.Rate*float64(time.Second)))
}

// together is the number of requests in 10 ms, and at least 1.
func (s *Schedule) together() int { return max(1, int(math.Round(s.Rate/100))) }

// Error returns the difference from the schedule at the percentile q, 0.5 or 0.99, in milliseconds.
// measured is that percentile of what a series has found.
func (s *Schedule) Error(measured statistics.Figure, q float64) statistics.Figure {
	if s.Process != Poisson || measured.Value == nil {
		return measured
	}
	// Wilson and Hilferty's approximation of the gamma distribution.
	normal, n := 0.0, float64(s.together())
	if q == 0.99 {
		normal = 2.326348
	}
	root := 1 - 1/(9*n) + normal/(3*math.Sqrt(n))
	expected := n * root * root * root / s.Rate * 1000
	for _, f := range [...]**float64{&measured.Value, &measured.Low, &measured.High} {
		*f = new(**f - expected)
	}
	return measured
}
