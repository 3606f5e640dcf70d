package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
)

// constant returns times that a generator with a constant rate sends requests at, for some seconds.
func constant(rate float64, seconds int) (all []time.Duration) {
	for i := range int(rate) * seconds {
		all = append(all, time.Duration(float64(i)/rate*1e9))
	}
	return all
}

// random returns the times of a Poisson process.
func random(rate float64, seconds int) (all []time.Duration) {
	r := rand.New(rand.NewPCG(1, 2))
	for at := 0.0; at < float64(seconds); at += r.ExpFloat64() / rate {
		all = append(all, time.Duration(at*1e9))
	}
	return all
}

// bursts returns times at which n requests come at once.
func bursts(n int, each time.Duration, seconds int) (all []time.Duration) {
	for at := time.Duration(0); at < time.Duration(seconds)*time.Second; at += each {
		all = append(all, slices.Repeat([]time.Duration{at}, n)...)
	}
	return all
}

// stopped delays what a generator sends while it is stopped, once a second, until it goes on.
func stopped(all []time.Duration, length time.Duration) []time.Duration {
	for i, at := range all {
		if within := at % time.Second; within >= 500*time.Millisecond && within < 500*time.Millisecond+length {
			all[i] = at - within + 500*time.Millisecond + length
		}
	}
	return all
}

// read plays arrivals after a time, and reads them once a second and at the end, half a second later.
func read(all []time.Duration, after time.Duration, schedule *Schedule) Figures {
	rings, s := []*Ring{new(Ring), new(Ring)}, new(Series)
	s.Track(schedule)
	next := time.Second
	for i, at := range all {
		for ; after+at >= next; next += time.Second {
			s.Read(rings, next)
		}
		rings[i%2].Arrive(after+at, 0)
	}
	return s.Read(rings, after+all[len(all)-1]+500*time.Millisecond)
}

func median(l histogram.Snapshot) float64 {
	return *statistics.Percentile(l, 0.5, statistics.Dependence{}).Value
}

func TestSeries_SaysHowRequestsArrived(t *testing.T) {
	for name, c := range map[string]struct {
		arrivals    []time.Duration
		low, high   float64 // of the index of dispersion
		burst       uint64
		gap         time.Duration // longest
		stops       uint64
		longestStop time.Duration
	}{
		"constant":         {arrivals: constant(5000, 10), burst: 50},
		"constant, slowly": {arrivals: constant(200, 10), burst: 2, gap: 5 * time.Millisecond},
		"poisson":          {arrivals: random(5000, 10), low: 0.9, high: 1.1},
		"bursts":           {arrivals: bursts(10, 20*time.Millisecond, 10), low: 4, high: 6, burst: 10, gap: 20 * time.Millisecond},
		"stopped":          {arrivals: stopped(constant(5000, 12), 84*time.Millisecond), burst: 450, gap: 84 * time.Millisecond, stops: 12, longestStop: 84 * time.Millisecond},
		"stopped briefly":  {arrivals: stopped(constant(5000, 12), 30*time.Millisecond), burst: 200, gap: 30 * time.Millisecond},
		"stopped for long": {
			arrivals: slices.DeleteFunc(constant(300, 10), func(at time.Duration) bool { return at > 4*time.Second && at < 5500*time.Millisecond }),
			burst:    4, gap: 1500 * time.Millisecond, stops: 1, longestStop: 1500 * time.Millisecond, high: 0.4,
		},
		"two loads": {arrivals: append(constant(1000, 3), plus(constant(1000, 3), 10*time.Second)...), burst: 10},
		"few":       {arrivals: constant(2, 20), burst: 1, gap: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			f := read(c.arrivals, 300*time.Millisecond, nil)
			if f.Requests != uint64(len(c.arrivals)) || f.First != f.Requests {
				t.Errorf("%d requests, %d of them the first; want %d", f.Requests, f.First, len(c.arrivals))
			}
			if f.Dispersion.Count > 0 {
				if d := median(f.Dispersion); d < c.low || d > max(c.high, 0.1) {
					t.Errorf("index of dispersion %v, want %v to %v", d, c.low, c.high)
				}
			}
			if c.burst > 0 && math.Abs(float64(f.Bursts.Max)-float64(c.burst)) > 0.15*float64(c.burst)+1 {
				t.Errorf("%d requests in 10 ms, want about %d", f.Bursts.Max, c.burst)
			}
			if (c.gap > 0 || c.high == 0) && (f.Gaps.Max-c.gap).Abs() > 4*time.Millisecond {
				t.Errorf("longest gap %v, want %v", f.Gaps.Max, c.gap)
			}
			if f.Stops.Count != c.stops || (f.Stops.Max-c.longestStop).Abs() > 4*time.Millisecond {
				t.Errorf("%d stops, the longest of %v; want %d and %v", f.Stops.Count, f.Stops.Max, c.stops, c.longestStop)
			}
		})
	}
}

func plus(all []time.Duration, after time.Duration) []time.Duration {
	for i := range all {
		all[i] += after
	}
	return all
}

func TestSeries_ComparesWithASchedule(t *testing.T) {
	stray := func(all []time.Duration) []time.Duration {
		return append([]time.Duration{0}, plus(all, 2500*time.Millisecond)...)
	}
	late, slow := constant(5000, 10), constant(1000, 10)
	for i := range late {
		late[i] = max(late[i], 3*time.Millisecond)
	}
	for i := range slow {
		slow[i] += slow[i] / 100 // 990 a second
	}
	for name, c := range map[string]struct {
		arrivals      []time.Duration
		schedule      Schedule
		p50, p99, off float64 // errors in milliseconds, and how far off they may be
	}{
		"constant":                     {constant(5000, 10), Schedule{5000, Constant}, 0, 0, 0.3},
		"constant after a request":     {stray(constant(5000, 10)), Schedule{5000, Constant}, 0, 0, 0.3},
		"constant, 10 a second":        {constant(10, 100), Schedule{10, Constant}, 0, 0, 0.3},
		"constant, the first one late": {late, Schedule{5000, Constant}, 0, 0, 0.3},
		"late":                         {stopped(constant(5000, 10), 80*time.Millisecond), Schedule{5000, Constant}, 0, 70, 0.5}, // 8 % are up to 80 ms late
		"slower than scheduled":        {slow, Schedule{1000, Constant}, 50, 99, 1},
		"poisson":                      {random(5000, 20), Schedule{5000, Poisson}, 0, 0, 0.5},
		"poisson, few":                 {random(100, 100), Schedule{100, Poisson}, 0, 0, 2},
		"constant is not poisson":      {constant(5000, 10), Schedule{5000, Poisson}, 0, -3.5, 0.5},
		"bursts are not poisson":       {bursts(150, 30*time.Millisecond, 10), Schedule{5000, Poisson}, -9.9, 16.4, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			f := read(c.arrivals, 300*time.Millisecond, &c.schedule)
			for q, want := range map[float64]float64{0.5: c.p50, 0.99: c.p99} {
				got := c.schedule.Error(statistics.Percentile(f.Errors, q, statistics.Dependence{}), q)
				if got.Value == nil {
					t.Errorf("p%v is not determined by %d errors", q*100, got.Samples)
				} else if math.Abs(*got.Value-want) > c.off || *got.Low > *got.Value || *got.High < *got.Value {
					t.Errorf("p%v: %+v, want %v", q*100, *got.Value, want)
				}
			}
		})
	}
}

// A ring that was not read for longer than it goes back has lost the times, but not the number.
func TestSeries_ReadTooLate(t *testing.T) {
	rings, s := []*Ring{new(Ring)}, new(Series)
	rings[0].Arrive(5*time.Millisecond, 0)
	s.Read(rings, 20*time.Millisecond)
	for _, at := range constant(1000, 7) {
		rings[0].Arrive(at, 0)
	}
	s.Read(rings, 7*time.Second)
	rings[0].Arrive(7*time.Second+30*time.Millisecond, 0)
	f := s.Read(rings, 8*time.Second)
	if f.Requests != 7002 || f.Stops.Count > 0 || f.Gaps.Count > 0 || f.Bursts.Max > 1 {
		t.Errorf("%d requests, %d stops, %d gaps, %d in 10 ms; want 7002, none, none and 1", f.Requests, f.Stops.Count, f.Gaps.Count, f.Bursts.Max)
	}
}

func TestRing_TellsKindsOfArrivals(t *testing.T) {
	r := new(Ring)
	r.Arrive(time.Second, 0)
	r.Arrive(2*time.Second, 1500*time.Millisecond)
	r.Arrive(3*time.Second, 3*time.Second)
	r.Arrive(4*time.Second, UnderWay)
	f := new(Series).Read([]*Ring{r}, 4*time.Second)
	if f.Requests != 4 || f.First != 1 || f.Overlapping != 2 || f.Idle.Count != 1 || f.Idle.Max != 500*time.Millisecond {
		t.Errorf("%+v", f)
	}
}

func TestRing_AllocatesNothing(t *testing.T) {
	r, at := new(Ring), time.Second
	if n := testing.AllocsPerRun(100, func() { r.Arrive(at, at-time.Millisecond); at += time.Microsecond }); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func TestSchedule_Problems(t *testing.T) {
	for _, s := range []NewSchedule{{}, {Rate: 9}, {Rate: math.NaN()}, {Rate: math.Inf(1)}, {Rate: 5, Process: "regular"}} {
		if s.Problem() == "" {
			t.Errorf("%+v is accepted", s)
		}
	}
	if s := (&NewSchedule{Rate: 10}); s.Problem() != "" || s.Process != Constant {
		t.Errorf("%+v: %s", s, s.Problem())
	}
}
