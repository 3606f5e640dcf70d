package runs

import (
	"slices"

	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/verdict"
)

// ArrivalTotals contains what the load generator did in a run so far, in addition to the figures in the
// sample.
type ArrivalTotals struct {
	arrivals.Distributions
	Schedule *arrivals.Schedule `json:"schedule,omitempty" doc:"what the load generator was to do; missing if the run began without a schedule"`
}

// Arrivals describes what the load generator did.
type Arrivals struct {
	Pattern string `json:"pattern" doc:"constant, poisson, bursts, closed, or unclear if there were too few requests"`
	Text    string `json:"text" doc:"the same in a sentence"`
	verdict.Arrived
	Dispersion     statistics.Figure `json:"dispersion" doc:"index of dispersion of the arrivals in 10 ms: about 0 if they are evenly spaced, 1 at random times, above 1 in bursts; median of all periods of 250 ms with 10 or more"`
	LongestGap     float64           `json:"longest_gap" doc:"longest time between two arrivals, at most 2 s; 0 below 1 ms"`
	Burst          uint64            `json:"burst" doc:"most arrivals in 10 ms"`
	ConnectionRate float64           `json:"connection_rate" doc:"connections that sent their first request, a second"`
	PerConnection  *float64          `json:"per_connection" doc:"requests for each of these connections; null if there were none"`
	OverlapShare   statistics.Figure `json:"overlapping_share" doc:"share of the requests that are overlapping"`
	Busy           *float64          `json:"busy" doc:"share of the time between two responses on a connection in which the server had a request; null if unknown"`
	Schedule       *ScheduleReport   `json:"schedule,omitempty" doc:"comparison with the schedule; missing if the run began without one"`
}

// ScheduleReport compares arrivals with a schedule.
type ScheduleReport struct {
	arrivals.Schedule
	ErrorP50 statistics.Figure `json:"error_p50" doc:"how far requests arrived from when they were due, median; for poisson, how much longer than expected the requests of 10 ms took to arrive"`
	ErrorP99 statistics.Figure `json:"error_p99" doc:"the same, 99th percentile"`
}

// arrivalsOf returns how the requests of a run arrived. total is the run as a sample, and times are its
// distributions.
func arrivalsOf(parts []*Totals, total *Whole, times *verdict.Times[histogram.Snapshot], timeline []Point) Arrivals {
	var sum ArrivalTotals
	var each *arrivals.Schedule // of one replica: all have the same
	for _, t := range parts {
		sum.Distributions.Add(&t.Arrivals.Distributions)
		if s := t.Arrivals.Schedule; s != nil && sum.Schedule != nil {
			sum.Schedule.Rate += s.Rate
		} else if s != nil {
			sum.Schedule, each = new(*s), s
		}
	}
	a := Arrivals{
		Arrived: total.Arrived, LongestGap: verdict.Milliseconds(sum.Gaps.Max), Burst: uint64(sum.Bursts.Max),
		ConnectionRate: verdict.PerSecond(total.Openers, total.Seconds),
		Dispersion:     statistics.Percentile(sum.Dispersion, 0.5, statistics.Dependence{}),
		OverlapShare:   statistics.Share(total.Overlapping, total.Arrivals, statistics.Dependence{}),
	}
	if a.Openers > 0 {
		a.PerConnection = new(float64(a.Arrivals) / float64(a.Openers))
	}
	if served, idle := times.Total.Sum, times.IdleTime.Sum; served > 0 && idle > 0 {
		a.Busy = new(float64(served) / float64(served+idle))
	}
	a.Pattern, a.Text = a.pattern(unsteady(timeline))
	if sum.Schedule != nil {
		a.Schedule = &ScheduleReport{*sum.Schedule, each.Error(total.Times.ScheduleError.P50, 0.5), each.Error(total.Times.ScheduleError.P99, 0.99)}
	}
	return a
}

// pattern returns the pattern of the arrivals and what it means; unsteady means that their rate changes
// from second to second.
func (a *Arrivals) pattern(unsteady bool) (name, text string) {
	if a.ArrivalRate < 50 || a.Dispersion.Value == nil {
		return "unclear", "There were too few requests to say how they were spaced."
	}
	dispersion := *a.Dispersion.Value
	busy := a.Busy != nil && *a.Busy >= 0.8
	oneByOne := *a.OverlapShare.Value < 0.01
	switch {
	case unsteady, busy && (oneByOne || dispersion >= 0.5):
		return "closed", "Requests arrived as fast as responses allowed: connections waited for a response before they sent the next request (a closed loop), so a slow response delays the requests after it."
	case dispersion < 0.5:
		return "constant", "Requests arrived evenly spaced, as a load generator with a constant rate sends them."
	case dispersion <= 2:
		return "poisson", "Requests arrived at random times, as many independent users send them."
	}
	return "bursts", "Requests arrived in bursts: their number in 10 ms varied more than chance explains."
}

// unsteady reports whether the number of requests in a second varies by more than chance explains, apart
// from a steady increase or decrease. It goes by the median of the changes of the change, which a few
// steps do not affect.
func unsteady(timeline []Point) bool {
	var squares []float64
	for i := 2; i < len(timeline); i++ {
		p, q, r := &timeline[i-2], &timeline[i-1], &timeline[i]
		if p.Arrivals > 0 && q.Arrivals > 0 && r.Arrivals > 0 {
			bend := p.Arrivals - 2*q.Arrivals + r.Arrivals
			squares = append(squares, bend*bend*q.Seconds/q.Arrivals)
		}
	}
	if len(squares) < 3 {
		return false
	}
	slices.Sort(squares)
	// Of independent values, the bend has six times their variance; the median of its square is 0.455 of that.
	return squares[len(squares)/2] > 5*6*0.455
}
