package policy

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// Lengths returns the distribution of a latency as a function: it maps a share, from 0 to below 1,
// to the length that this share of the values does not exceed. Applied to uniformly distributed
// random numbers, it gives values with this distribution. Lengths returns nil for no latency, and
// for one with rates only.
func (l *Latency) Lengths() func(part float64) time.Duration {
	switch {
	case l == nil:
		return nil
	case len(l.Curve) > 0:
		return curved(l)
	case l.Median > 0:
		return lognormal(l.Median, l.Sigma)
	case l.Max > 0:
		return func(part float64) time.Duration { return between(l.Min, l.Max, part) }
	}
	return nil
}

// Mixture is the distribution of latencies over requests with different latencies.
type Mixture []portion

// portion is the distribution for a share of all requests.
type portion struct {
	weight float64
	length func(part float64) time.Duration
}

// Add adds the requests with latency l: those that time out, and the others. Their share of all
// requests is weight divided by the sum of all weights. If l is nil, Add does nothing.
func (m *Mixture) Add(l *Latency, weight float64) {
	if l == nil {
		return
	}
	if l.TimeoutRate > 0 {
		limit := cmp.Or(l.Timeout, DefaultLatencyTimeout)
		*m = append(*m, portion{weight * l.TimeoutRate, func(float64) time.Duration { return limit }})
	}
	if length := l.Lengths(); length != nil {
		*m = append(*m, portion{weight * (1 - l.TimeoutRate), length})
	}
}

// Lengths returns the combined distribution, as Latency.Lengths does; nil for an empty mixture.
func (m Mixture) Lengths() func(part float64) time.Duration {
	all := slices.DeleteFunc(m, func(p portion) bool { return p.weight <= 0 })
	var total float64
	for _, p := range all {
		total += p.weight
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0].length
	}
	within := func(length time.Duration) (sum float64) { // the weight of all values up to a length
		for _, p := range all {
			parts := sort.Search(steps, func(i int) bool { return p.length(float64(i)/steps) > length })
			sum += p.weight * float64(parts) / steps
		}
		return sum
	}
	return func(part float64) time.Duration {
		return time.Duration(sort.Search(int(maxLatency), func(n int) bool { return within(time.Duration(n)) >= part*total }))
	}
}

// steps is the resolution at which a mixture is evaluated.
const steps = 1 << 20

// between interpolates between two lengths.
func between(low, high time.Duration, part float64) time.Duration {
	return low + time.Duration(math.Round(part*float64(high-low)))
}

// curved interpolates linearly between the declared points, from the minimum length, which is 0 if
// none is declared. After the last point the curve is constant.
func curved(l *Latency) func(part float64) time.Duration {
	points := append([]Percentile{{Length: l.Min}}, l.Curve...)
	points = append(points, Percentile{Rank: 100, Length: points[len(points)-1].Length})
	return func(part float64) time.Duration {
		rank, i := part*100, 1
		for rank > points[i].Rank { // there are few points
			i++
		}
		low, high := points[i-1], points[i]
		return between(low.Length, high.Length, (rank-low.Rank)/(high.Rank-low.Rank))
	}
}

// lognormal returns a log-normal distribution. It is truncated at maxLatency, because a log-normal
// distribution has no upper end.
func lognormal(median time.Duration, sigma float64) func(part float64) time.Duration {
	if sigma == 0 {
		return func(float64) time.Duration { return median }
	}
	return func(part float64) time.Duration {
		length := float64(median) * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*part-1))
		return time.Duration(math.Round(min(length, float64(maxLatency))))
	}
}
