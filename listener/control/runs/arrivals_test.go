package runs

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/arrivals"
	"mockserver/listener/observe/verdict"
)

func TestArrivals_Patterns(t *testing.T) {
	const ms = float64(time.Millisecond) // stands for 1
	for _, c := range []struct {
		name                         string
		rate, dispersion, busy, over float64
		unsteady                     bool
		want                         string
	}{
		{"metronome", 1000, 0.02, 0.1, 0, false, "constant"},
		{"metronome, few connections", 1000, 0.02, 0.9, 0, false, "closed"},
		{"metronome over HTTP/2, slow replies", 1000, 0.02, 1, 0.99, false, "constant"},
		{"users", 1000, 1.1, 0.1, 0, false, "poisson"},
		{"bursts", 1000, 9, 0.1, 0, false, "bursts"},
		{"as fast as possible", 30_000, 3, 0.01, 0, true, "closed"},
		{"waiting for replies", 700, 3, 0.97, 0, false, "closed"},
		{"streams waiting for replies", 700, 3, 1, 0.9, false, "closed"},
		{"few", 49, 0.5, 0.1, 0, false, "unclear"},
	} {
		d := harness.Histogram(slices.Repeat([]time.Duration{time.Duration(c.dispersion * ms)}, 20)...)
		a := Arrivals{
			Arrived: verdict.Arrived{ArrivalRate: c.rate}, Busy: &c.busy,
			Dispersion: statistics.Percentile(d, 0.5, statistics.Dependence{}), OverlapShare: statistics.Figure{Value: &c.over},
		}
		if got, text := a.pattern(c.unsteady); got != c.want || text == "" {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got, _ := (&Arrivals{Arrived: verdict.Arrived{ArrivalRate: 1000}}).pattern(false); got != "unclear" {
		t.Errorf("of an unknown dispersion: %s, want unclear", got)
	}
}

// A schedule keeps its rate, even if the rate increases or has steps. Clients that wait for responses do
// not.
func TestArrivals_RatesThatNobodyKeeps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	normal := func(mean, deviation float64) float64 { return mean + deviation*r.NormFloat64() }
	for name, c := range map[string]struct {
		rate func(second int) float64
		want bool
	}{
		"constant": {func(int) float64 { return normal(5000, 5) }, false},
		"poisson":  {func(int) float64 { return normal(5000, 70.7) }, false},
		"ramp":     {func(s int) float64 { return normal(1000+300*float64(s), 5) }, false},
		"steps":    {func(s int) float64 { return normal(1000*float64(1+s/10), 5) }, false},
		"closed":   {func(int) float64 { return normal(30_000, 900) }, true},
		"idle":     {func(int) float64 { return 0 }, false},
	} {
		var timeline []Point
		for second := range 30 {
			timeline = append(timeline, Point{Seconds: 1, Arrivals: c.rate(second)})
		}
		if got := unsteady(timeline); got != c.want {
			t.Errorf("%s: unsteady %v, want %v", name, got, c.want)
		}
	}
}

// Arrivals at several replicas add up; each replica has a part of the schedule.
func TestArrivals_OfAFleet(t *testing.T) {
	part := func(gap time.Duration, n uint64) *Totals {
		t := &Totals{Sample: verdict.Sample{Seconds: 10, Arrived: verdict.Arrived{Arrivals: n, Openers: 10}}}
		t.ScheduleError = harness.Histogram(slices.Repeat([]time.Duration{gap}, 500)...)
		t.Arrivals = ArrivalTotals{Schedule: &arrivals.Schedule{Rate: 100, Process: arrivals.Constant}}
		t.Arrivals.Gaps, t.Arrivals.Dispersion = harness.Histogram(gap), harness.Histogram(slices.Repeat([]time.Duration{time.Millisecond}, 20)...)
		return t
	}
	a := reportOf([]*Totals{part(50*time.Millisecond, 1000), part(70*time.Millisecond, 3000)}).Arrivals
	if a.Arrivals != 4000 || a.ArrivalRate != 400 || a.ConnectionRate != 2 || *a.PerConnection != 200 || a.LongestGap != 70 || a.Pattern != "poisson" {
		t.Errorf("%+v", a)
	}
	if s := a.Schedule; s.Rate != 200 || *s.ErrorP50.Value < 49.5 || *s.ErrorP99.Value < 69.5 || s.ErrorP99.Samples != 1000 {
		t.Errorf("schedule: %+v", s)
	}
	random := part(10*time.Millisecond, 1000)
	random.Arrivals.Schedule.Process = arrivals.Poisson
	one, two := reportOf([]*Totals{random}).Arrivals.Schedule, reportOf([]*Totals{random, random}).Arrivals.Schedule
	if *one.ErrorP50.Value != *two.ErrorP50.Value || *one.ErrorP99.Value != *two.ErrorP99.Value {
		t.Errorf("the errors of two replicas are %v and %v, of one %v and %v", *two.ErrorP50.Value, *two.ErrorP99.Value, *one.ErrorP50.Value, *one.ErrorP99.Value)
	}
}
