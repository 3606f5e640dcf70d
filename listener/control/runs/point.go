package runs

import (
	"math"

	"mockserver/listener/observe/verdict"
)

// Point is a second of a run, or several seconds of a long run. Durations are in milliseconds, and
// counts are per second. Unknown figures are nil.
type Point struct {
	At      float64 `json:"at" doc:"second of the run in which the point ends"`
	Seconds float64 `json:"seconds" doc:"seconds that the point covers"`
	Trusted bool    `json:"trusted" doc:"whether the timing can be trusted, by the verdict on the seconds up to here"`

	Rate           float64 `json:"rate" doc:"requests a second"`
	Arrivals       float64 `json:"arrivals" doc:"requests that arrived, a second"`
	Errors         float64 `json:"errors" doc:"answers with status 500 or above, a second"`
	DeclaredErrors float64 `json:"errors_declared" doc:"errors declared as responses, a second"`
	InjectedErrors float64 `json:"errors_injected" doc:"errors injected as faults, a second"`
	OwnErrors      float64 `json:"errors_own" doc:"the server's own errors, a second"`
	Unmatched      float64 `json:"unmatched" doc:"unmatched requests a second"`
	Faults         float64 `json:"faults" doc:"faults a second"`
	Limited        float64 `json:"limited" doc:"requests that rate limits and capacities refused, a second"`
	InFlight       float64 `json:"in_flight" doc:"highest number of requests in flight"`

	// Each figure below is the largest of the seconds of the point, except Throttled, which is
	// their sum. A duration is nil if nothing was timed.
	OwnP50            *float64 `json:"own_p50" doc:"median of the server's own time; null if nothing was timed"`
	OwnP99            *float64 `json:"own_p99" doc:"99th percentile of the server's own time"`
	InjectedP50       *float64 `json:"injected_p50" doc:"median of the declared latency; null if nothing was timed"`
	InjectedP99       *float64 `json:"injected_p99" doc:"99th percentile of the declared latency"`
	InjectionErrorP99 *float64 `json:"injection_error_p99" doc:"how much later than the declared latency the responses were ready, 99th percentile"`
	WebhookLagP99     *float64 `json:"webhook_lag_p99" doc:"how late first attempts of webhooks were, 99th percentile"`
	WebhooksPending   float64  `json:"webhooks_pending" doc:"highest number of pending webhooks"`
	SchedulerP99      *float64 `json:"scheduler_p99" doc:"how long goroutines that could run waited, 99th percentile"`
	PauseMax          *float64 `json:"pause_max" doc:"longest pause of the garbage collector"`
	CPU               *float64 `json:"cpu" doc:"CPU used, as a share of what the process may use"`
	MachineCPU        *float64 `json:"machine_cpu" doc:"share of the machine that was busy"`
	Steal             *float64 `json:"steal" doc:"share of the machine that the hypervisor gave to others"`
	Throttled         *float64 `json:"throttled" doc:"time that a quota kept threads from running, summed over the CPUs"`
	Memory            float64  `json:"memory" doc:"memory in bytes"`
}

// pointOf converts a sample to a point.
func pointOf(s *verdict.Sample, at float64, trusted bool) Point {
	each := func(n uint64) float64 {
		if s.Seconds <= 0 {
			return 0
		}
		return float64(n) / s.Seconds
	}
	return Point{
		At: at, Seconds: s.Seconds, Trusted: trusted,
		Rate: s.Rate, Arrivals: s.ArrivalRate, Errors: each(s.Errors),
		DeclaredErrors: each(s.DeclaredErrors), InjectedErrors: each(s.InjectedErrors), OwnErrors: each(s.OwnErrors), Unmatched: each(s.Unmatched), Faults: each(s.Faults), Limited: each(s.Limited + s.Refused),
		InFlight: float64(s.InFlight),
		OwnP50:   timed(s.Own, s.Own.P50), OwnP99: timed(s.Own, s.Own.P99),
		InjectedP50: timed(s.Injected, s.Injected.P50), InjectedP99: timed(s.Injected, s.Injected.P99),
		InjectionErrorP99: timed(s.InjectionError, s.InjectionError.P99), WebhookLagP99: timed(s.WebhookLag, s.WebhookLag.P99),
		WebhooksPending: float64(s.WebhooksPending),
		SchedulerP99:    timed(s.Scheduler, s.Scheduler.P99), PauseMax: timed(s.Pauses, s.Pauses.Max),
		CPU: s.CPUShare(), MachineCPU: s.MachineCPU, Steal: s.Steal, Throttled: s.Throttled, Memory: float64(s.Memory),
	}
}

// pointFigures contains the addresses of the figures of a point: the counts per second, the levels,
// and the figures that may be unknown.
type pointFigures struct {
	densities [9]*float64
	levels    [3]*float64
	peaks     [11]**float64
}

func (p *Point) figures() pointFigures {
	return pointFigures{
		[...]*float64{&p.Rate, &p.Arrivals, &p.Errors, &p.DeclaredErrors, &p.InjectedErrors, &p.OwnErrors, &p.Unmatched, &p.Faults, &p.Limited},
		[...]*float64{&p.InFlight, &p.WebhooksPending, &p.Memory},
		[...]**float64{
			&p.OwnP50, &p.OwnP99, &p.InjectedP50, &p.InjectedP99, &p.InjectionErrorP99, &p.WebhookLagP99,
			&p.SchedulerP99, &p.PauseMax, &p.CPU, &p.MachineCPU, &p.Steal,
		},
	}
}

// join joins two successive points into one: it takes the average of counts, and the larger of
// durations and shares.
func (p Point) join(q Point) Point {
	seconds := p.Seconds + q.Seconds
	first, joined := p.figures(), q.figures()
	for i, n := range joined.densities {
		if seconds > 0 {
			*n = (*first.densities[i]*p.Seconds + *n*q.Seconds) / seconds
		}
	}
	for i, n := range joined.levels {
		*n = max(*first.levels[i], *n)
	}
	for i, n := range joined.peaks {
		*n = most(*first.peaks[i], *n)
	}
	q.Seconds, q.Trusted, q.Throttled = seconds, p.Trusted && q.Trusted, both(p.Throttled, q.Throttled) // a sum, as in the point of a single second
	return q
}

// most returns the larger of two figures, either of which may be nil.
func most(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// pointsKept is the maximum number of points in a report. In a longer run, each point covers two
// seconds, four seconds, and so on.
const pointsKept = 1200

// put adds the point of a sample to the points of a run, each of which covers the same number of
// seconds. If there are too many points, they are joined in pairs. From then on each covers twice
// as many seconds, so that the resolution is the same everywhere.
func put(points []Point, each float64, p Point) ([]Point, float64) {
	slot := func(at float64) float64 { return math.Floor(at / each) }
	if n := len(points); n > 0 && each > verdict.Every.Seconds() && slot(points[n-1].At) == slot(p.At) {
		points[n-1] = points[n-1].join(p)
		return points, each
	}
	points = append(points, p)
	if len(points) > 2*pointsKept {
		points, each = thinned(points, pointsKept+1), 2*each
	}
	return points, each
}

// thinned joins points in pairs until there are no more than the given number.
func thinned(points []Point, most int) []Point {
	for len(points) > most {
		half := make([]Point, 0, len(points)/2+1)
		for i := 0; i < len(points); i += 2 {
			one := points[i]
			if i+1 < len(points) {
				one = one.join(points[i+1])
			}
			half = append(half, one)
		}
		points = half
	}
	return points
}

// timed returns a figure of a distribution, or nil if the distribution is empty.
func timed(s verdict.Spread, ms float64) *float64 {
	if s.Count == 0 {
		return nil
	}
	return &ms
}
