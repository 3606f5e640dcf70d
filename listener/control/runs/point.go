package runs

import (
	"math"
	"reflect"

	"mockserver/listener/observe/verdict"
)

// Point is a second of a run, or several seconds of a long run. Durations are in milliseconds, and
// counts are per second. Unknown figures are nil.
type Point struct {
	At      float64 `json:"at" merge:"-" doc:"second of the run in which the point ends"`
	Seconds float64 `json:"seconds" merge:"-" doc:"seconds that the point covers"`
	Trusted bool    `json:"trusted" doc:"whether the timing can be trusted, by the verdict on the seconds up to here"`

	Rate      float64 `json:"rate" doc:"requests a second"`
	Arrivals  float64 `json:"arrivals" doc:"requests that arrived, a second"`
	Unmatched float64 `json:"unmatched" doc:"unmatched requests a second"`
	Faults    float64 `json:"faults" doc:"faults a second"`
	Limited   float64 `json:"limited" doc:"requests that rate limits and capacities refused, a second"`
	InFlight  float64 `json:"in_flight" merge:"level" doc:"highest number of requests in flight"`

	// Each figure below is the largest of the seconds of the point, except Throttled, which is
	// their sum. A duration is nil if nothing was timed.
	FailedShare       *float64 `json:"failed_share" doc:"share of the requests that a client saw fail, 0 to 1; null if there were none"`
	TotalP50          *float64 `json:"total_p50" doc:"median of the response time; null if nothing was timed"`
	TotalP99          *float64 `json:"total_p99" doc:"99th percentile of the response time"`
	OwnP50            *float64 `json:"own_p50" doc:"median of the server's own time; null if nothing was timed"`
	OwnP99            *float64 `json:"own_p99" doc:"99th percentile of the server's own time"`
	InjectedP50       *float64 `json:"injected_p50" doc:"median of the declared latency; null if nothing was timed"`
	InjectedP99       *float64 `json:"injected_p99" doc:"99th percentile of the declared latency"`
	InjectionErrorP99 *float64 `json:"injection_error_p99" doc:"how much later than the declared latency the responses were ready, 99th percentile"`
	StreamGapErrorP99 *float64 `json:"stream_gap_error_p99" doc:"how late items of streams were that follow the first one, 99th percentile"`
	WebhookLagP99     *float64 `json:"webhook_lag_p99" doc:"how late first attempts of webhooks were, 99th percentile"`
	WebhooksPending   float64  `json:"webhooks_pending" merge:"level" doc:"highest number of pending webhooks"`
	SchedulerP99      *float64 `json:"scheduler_p99" doc:"how long goroutines that could run waited, 99th percentile"`
	PauseMax          *float64 `json:"pause_max" doc:"longest pause of the garbage collector"`
	CPU               *float64 `json:"cpu" doc:"CPU used, as a share of what the process may use"`
	MachineCPU        *float64 `json:"machine_cpu" doc:"share of the machine that was busy"`
	Steal             *float64 `json:"steal" doc:"share of the machine that the hypervisor gave to others"`
	Throttled         *float64 `json:"throttled" merge:"-" doc:"time that a quota kept threads from running, summed over the CPUs"`
	Memory            float64  `json:"memory" merge:"level" doc:"memory in bytes"`
}

// pointOf converts a sample to a point.
func pointOf(s *verdict.Sample, at float64, trusted bool) Point {
	each := func(n uint64) float64 { return verdict.PerSecond(n, s.Seconds) }
	var failed *float64
	if s.Requests > 0 {
		failed = new(float64(min(s.Failed.All, s.Requests)) / float64(s.Requests))
	}
	return Point{
		At: at, Seconds: s.Seconds, Trusted: trusted,
		Rate: s.Rate, Arrivals: s.ArrivalRate,
		Unmatched: each(s.Unmatched), Faults: each(s.Faults), Limited: each(s.Limited + s.Refused),
		InFlight:    float64(s.InFlight),
		FailedShare: failed, TotalP50: timed(s.Total, s.Total.P50), TotalP99: timed(s.Total, s.Total.P99),
		OwnP50: timed(s.Own, s.Own.P50), OwnP99: timed(s.Own, s.Own.P99),
		InjectedP50: timed(s.Injected, s.Injected.P50), InjectedP99: timed(s.Injected, s.Injected.P99),
		InjectionErrorP99: timed(s.InjectionError, s.InjectionError.P99), StreamGapErrorP99: timed(s.StreamGapError, s.StreamGapError.P99), WebhookLagP99: timed(s.WebhookLag, s.WebhookLag.P99),
		WebhooksPending: float64(s.WebhooksPending),
		SchedulerP99:    timed(s.Scheduler, s.Scheduler.P99), PauseMax: timed(s.Pauses, s.Pauses.Max),
		CPU: s.CPUShare(), MachineCPU: s.MachineCPU, Steal: s.Steal, Throttled: s.Throttled, Memory: float64(s.Memory),
	}
}

// combine adds another point: counts per second by rates, levels by levels. Of figures that may be unknown,
// it takes the larger one. The tag merge says which fields are levels, and which ones it leaves.
func (p *Point) combine(q *Point, rates, levels func(a, b float64) float64) {
	into, from := reflect.ValueOf(p).Elem(), reflect.ValueOf(q).Elem()
	for i := range into.NumField() {
		how := into.Type().Field(i).Tag.Get("merge")
		switch x := into.Field(i).Addr().Interface().(type) {
		case *float64:
			if y := from.Field(i).Float(); how == "level" {
				*x = levels(*x, y)
			} else if how == "" {
				*x = rates(*x, y)
			}
		case **float64:
			if y, _ := from.Field(i).Interface().(*float64); how == "" {
				*x = verdict.Combine(*x, y, "max")
			}
		}
	}
}

// join joins two successive points into one: it takes the average of counts, and the larger of
// durations and shares.
func (p Point) join(q Point) Point {
	seconds := p.Seconds + q.Seconds
	p.combine(&q, func(a, b float64) float64 {
		if seconds <= 0 {
			return b
		}
		return (a*p.Seconds + b*q.Seconds) / seconds
	}, func(a, b float64) float64 { return max(a, b) })
	p.At, p.Seconds, p.Trusted = q.At, seconds, p.Trusted && q.Trusted
	p.Throttled = verdict.Combine(p.Throttled, q.Throttled, "sum") // as in the point of a single second
	return p
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
		points = inPairs(points, func(p, q *Point) Point { return p.join(*q) })
	}
	return points
}

// inPairs joins successive values in pairs. The last one may stay alone.
func inPairs[T any](all []T, join func(a, b *T) T) []T {
	half := make([]T, 0, len(all)/2+1)
	for i := 1; i < len(all); i += 2 {
		half = append(half, join(&all[i-1], &all[i]))
	}
	return append(half, all[len(all)&^1:]...)
}

// timed returns a figure of a distribution, or nil if the distribution is empty.
func timed(s verdict.Spread, ms float64) *float64 {
	if s.Count == 0 {
		return nil
	}
	return &ms
}
