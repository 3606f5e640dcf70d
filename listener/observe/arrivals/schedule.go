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

// LowestRate is the lowest rate of a schedule, in requests a second: with fewer, it is not known when a load
// ends.
const LowestRate = 10

// Schedule is what a load generator was told to do.
type Schedule struct {
	Rate    float64 `json:"rate" doc:"requests a second"`
	Process string  `json:"process,omitempty" doc:"constant, the default, or poisson"`
}

// NewSchedule is a schedule in a request, which unlike one in a response gets no other fields.
type NewSchedule Schedule

// Problem completes a schedule, and returns what is wrong with it; "" for nothing.
func (s *NewSchedule) Problem() string {
	switch {
	case s == nil:
	case !(s.Rate >= LowestRate && s.Rate <= 10_000_000):
		return fmt.Sprintf("schedule.rate is %v; expected a number of requests a second, from 10 to 10000000", s.Rate)
	case s.Process != "" && s.Process != Constant && s.Process != Poisson:
		return fmt.Sprintf("schedule.process is %q; expected constant or poisson", s.Process)
	default:
		s.Process = cmp.Or(s.Process, Constant)
	}
	return ""
}

// tracking compares arrivals with a schedule. With a constant rate, an error is how far a request
// arrived from when it was due; in the first second of a load, no request arrives before it is due. For
// a Poisson process, it is how long it took until the requests of 10 ms had arrived, which Error compares with
// what is expected.
type tracking struct {
	schedule *Schedule // nil for none
	begun    uint64    // the cell from which requests are counted
	count    int       // requests since then; 0 before the first of a load
	errors   histogram.Histogram
}

// Track makes the series compare arrivals with a schedule from now on; nil for none.
func (s *Series) Track(schedule *Schedule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedule, s.count = schedule, 0
}

// follow compares the n arrivals of a cell with the schedule.
func (t *tracking) follow(at uint64, n int) {
	if t.schedule == nil {
		return
	}
	for each := t.schedule.together(); n > 0; n-- {
		if t.count == 0 {
			t.begun = at
		}
		after, due := time.Duration(at-t.begun)*cell, time.Duration(float64(t.count)/t.schedule.Rate*float64(time.Second))
		if t.schedule.Process == Constant {
			if early := due - after; early > 0 && after < time.Second { // the first request was late
				t.begun -= uint64(early / cell)
				after += early
			}
			t.errors.Add((after - due).Abs())
		} else if t.count == each {
			t.errors.Add(after)
			t.begun, t.count = at, 0
		}
		t.count++
	}
}

// together is the number of requests in 10 ms, and at least 1.
func (s *Schedule) together() int { return max(1, int(math.Round(s.Rate/100))) }

// Error returns the difference from the schedule at the percentile q, 0.5 or 0.99, in milliseconds.
// measured is that percentile of what a series has found.
func (s *Schedule) Error(measured statistics.Figure, q float64) statistics.Figure {
	if s.Process == Constant || measured.Value == nil {
		return measured
	}
	// Wilson and Hilferty's approximation of the gamma distribution.
	normal, n := math.Sqrt2*math.Erfinv(2*q-1), float64(s.together())
	expected := n * math.Pow(1-1/(9*n)+normal/(3*math.Sqrt(n)), 3) / s.Rate * 1000
	for _, f := range [...]**float64{&measured.Value, &measured.Low, &measured.High} {
		*f = new(**f - expected)
	}
	return measured
}
