package config

import (
	"math"
	"time"
)

// Lengths returns the distribution of a latency: how long the part of all is at most that
// is given, from 0 to below 1. What it gives for random numbers is distributed so. It is nil
// for a latency that has only rates, and for none.
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

// between is the length that lies at a part of the way from one to another.
func between(low, high time.Duration, part float64) time.Duration {
	return low + time.Duration(math.Round(part*float64(high-low)))
}

// point is one of a curve: this part of all are length or less.
type point struct {
	part   float64
	length time.Duration
}

// curved goes through the declared points in straight lines, from the least length,
// which is 0 when none is declared. After the last point it stays there.
func curved(l *Latency) func(part float64) time.Duration {
	points := make([]point, 1, len(l.Curve)+2)
	points[0].length = l.Min
	for _, p := range l.Curve {
		points = append(points, point{p.Rank / 100, p.Length})
	}
	if last := points[len(points)-1]; last.part < 1 {
		points = append(points, point{1, last.length})
	}
	return func(part float64) time.Duration {
		i := 1
		for part > points[i].part { // there are few
			i++
		}
		low, high := points[i-1], points[i]
		return between(low.length, high.length, (part-low.part)/(high.part-low.part))
	}
}

// lognormal has no end, so it is cut.
func lognormal(median time.Duration, sigma float64) func(part float64) time.Duration {
	if sigma == 0 {
		return func(float64) time.Duration { return median }
	}
	return func(part float64) time.Duration {
		length := float64(median) * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*part-1))
		return time.Duration(math.Round(min(length, float64(maxLatency))))
	}
}
