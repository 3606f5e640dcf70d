// Package statistics states how certain a measured figure is, and whether two figures differ by
// more than chance explains:
//
//	p99 := statistics.Percentile(times, 0.99, statistics.Dependence{})
//	difference := statistics.Compare(p99, other, statistics.Ratio)
//
// An interval contains the true value in 95 of 100 cases. The intervals of percentiles are made of
// order statistics, so they hold for every distribution. Values that depend on each other within
// some time count as fewer: see Dependence.
package statistics

import (
	"math"

	"mockserver/internal/histogram"
)

// Figure is a measured value with its 95 % interval. The pointers are nil if the samples do not
// determine the value.
type Figure struct {
	Value   *float64 `json:"value" doc:"the figure; null if the samples do not determine it"`
	Low     *float64 `json:"low" doc:"lower end of its 95 % interval"`
	High    *float64 `json:"high" doc:"upper end of its 95 % interval"`
	Samples uint64   `json:"samples" doc:"number of samples"`

	blocks int // if the interval accounts for dependence: the number of blocks that this is known from
}

// z is the quantile of the normal distribution that belongs to a two-sided interval of 95 %.
const z = 1.959964

// Percentile returns the percentile q, from 0 to 1, of durations, in milliseconds. It is not
// determined if the interval would end above the longest duration or below the shortest.
func Percentile(l histogram.Snapshot, q float64, d Dependence) Figure {
	f := Figure{Samples: l.Count, blocks: d.Blocks}
	effect := d.effect()
	low, high, ok := ranks(q, float64(l.Count)/effect)
	if !ok {
		return f
	}
	// The rank r of n stands for the share (r - 1/2)/n.
	from, _ := l.At((low-0.5)*effect + 0.5)
	_, to := l.At((high-0.5)*effect + 0.5)
	value := l.Quantile(q)
	ms := func(ns float64) *float64 { return new(ns / 1e6) }
	f.Value, f.Low, f.High = ms(float64(value)), ms(min(from, float64(value))), ms(max(to, float64(value)))
	return f
}

// ranks returns the ranks, from 1 to n and not necessarily whole, between which the percentile q of
// n values lies in 95 of 100 cases. The number of values below the percentile is binomial.
func ranks(q, n float64) (low, high float64, ok bool) {
	if n < 1 || math.Pow(1-q, n) > 0.025 || math.Pow(q, n) > 0.025 {
		return 0, 0, false
	}
	sigma := math.Sqrt(n * q * (1 - q))
	// Cornish and Fisher, with the skewness of the binomial distribution.
	middle := n*q + (1-2*q)*(z*z-1)/6 + 0.5
	low, high = middle-z*sigma, middle+z*sigma
	if sigma*sigma < 10 {
		// The interpolation between whole ranks is that of the incomplete beta function.
		low = solve(max(low-4, 1), min(low+4, n), 0.025, func(r float64) float64 { return 1 - beta(q, r, n-r+1) })
		high = solve(max(high-4, 1), min(high+4, n), 0.975, func(r float64) float64 { return 1 - beta(q, r, n-r+1) })
	}
	return max(low, 1), min(high, n), true
}

// solve returns where an increasing function reaches a value, between two bounds.
func solve(from, to, value float64, f func(float64) float64) float64 {
	for range 30 {
		if middle := (from + to) / 2; f(middle) < value {
			from = middle
		} else {
			to = middle
		}
	}
	return (from + to) / 2
}

// Share returns the share n/of with the interval of Jeffreys.
func Share(n, of uint64, d Dependence) Figure {
	f := Figure{Samples: of, blocks: d.Blocks}
	if of == 0 {
		return f
	}
	effect := d.effect()
	x, all := float64(n)/effect, float64(of)/effect
	value := float64(n) / float64(of)
	end := func(part float64) float64 {
		return solve(0, 1, part, func(p float64) float64 { return beta(p, x+0.5, all-x+0.5) })
	}
	low, high := 0.0, 1.0
	if variance := all * value * (1 - value); variance > 100 { // then the incomplete beta function takes long
		half := z * math.Sqrt(variance) / all
		low, high = value-half, value+half
	} else {
		if n > 0 {
			low = min(end(0.025), value)
		}
		if n < of {
			high = max(end(0.975), value)
		}
	}
	f.Value, f.Low, f.High = &value, &low, &high
	return f
}

// Rate returns n a second in the given number of seconds, with the interval that Byar gave for
// counts of independent events.
func Rate(n uint64, seconds float64, d Dependence) Figure {
	f := Figure{Samples: n, blocks: d.Blocks}
	if seconds <= 0 {
		return f
	}
	effect := d.effect()
	x := float64(n) / effect
	cube := func(a float64) float64 { return a * a * a }
	low, above := 0.0, x+1
	if x > 0 {
		low = x * max(cube(1-1/(9*x)-z/(3*math.Sqrt(x))), 0)
	}
	high := above * cube(1-1/(9*above)+z/(3*math.Sqrt(above)))
	f.Value, f.Low, f.High = new(float64(n)/seconds), new(low*effect/seconds), new(high*effect/seconds)
	return f
}
