// Package samples makes percentile curves from measured lengths of time: from a recording, or from
// the results of a load generator. It reads their files, but does not depend on endpoints.
package samples

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Curve is a distribution by its percentiles. It is linear between two points.
type Curve struct {
	Count    int64 // samples
	Min, Max time.Duration
	Points   []Point // between Min and Max, with rising ranks and lengths
}

// Point means that Rank percent of all samples are at most Length.
type Point struct {
	Rank   float64 // above 0, at most 100, with at most six digits after the point
	Length time.Duration
}

const (
	// pointEach is the number of samples up to which each sample is a point.
	pointEach = 100
	// beyond is how many samples must be above a percentile of nines, such as 99.9, to make it a
	// point.
	beyond = 10
	// largestEach is the number of samples below which the largest ones are points of their own, in
	// place of percentiles with fewer than beyond samples above them.
	largestEach = 10_000
)

// ranks are the ranks of the points of a curve of many samples, closer towards both ends.
var ranks = []float64{0.5, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 98, 99, 99.5}

// nines are additional points, each of which needs samples above it.
var nines = []float64{99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999}

// Of returns the curve of samples, which it sorts.
func Of(lengths []time.Duration) Curve {
	slices.Sort(lengths)
	return curve(int64(len(lengths)), func(i int64) time.Duration { return lengths[i] })
}

// curve returns the curve of n samples, an empty one for none; at returns the i-th smallest.
func curve(n int64, at func(i int64) time.Duration) Curve {
	if n == 0 {
		return Curve{}
	}
	c := Curve{Count: n, Min: at(0), Max: at(n - 1)}
	if c.Min == c.Max {
		return c
	}
	if n <= pointEach {
		for i := int64(1); i < n-1; i++ {
			c.Points = append(c.Points, Point{rounded(100 * float64(i) / float64(n-1)), at(i)})
		}
		return c
	}
	last := int64(0)
	for _, rank := range ranksOf(n) {
		if n < largestEach && (100-rank)/100*float64(n) < beyond-1e-6 {
			break
		}
		place := rank / 100 * float64(n-1)
		low := int64(place)
		length := at(low)
		if part := place - float64(low); part > 0 {
			length += time.Duration(math.Round(part * float64(at(low+1)-length)))
		}
		c.Points = append(c.Points, Point{rank, length})
		last = int64(math.Ceil(place))
	}
	if n < largestEach {
		for i := last + 1; i < n-1; i++ {
			c.Points = append(c.Points, Point{rounded(100 * float64(i) / float64(n-1)), at(i)})
		}
	}
	return c
}

// ranksOf returns the ranks of the points of a curve of n samples.
func ranksOf(n int64) []float64 {
	all := slices.Clone(ranks)
	for _, nine := range nines {
		if (100-nine)/100*float64(n) >= beyond-1e-6 {
			all = append(all, nine)
		}
	}
	return all
}

// rounded rounds a rank to six decimal places, the most that are written.
func rounded(rank float64) float64 { return math.Round(rank*1e6) / 1e6 }

// Key returns the name of a percentile in configurations: p99.9.
func (p Point) Key() string { return "p" + strconv.FormatFloat(p.Rank, 'f', -1, 64) }

// Text returns a length in the form used in configurations, rounded to a microsecond, from 1s on to
// a tenth of a millisecond, and from 10s on to a millisecond. Only lengths below a microsecond are
// not rounded.
func Text(d time.Duration) string {
	unit, name, digits := time.Microsecond, "us", 0
	switch {
	case d == 0:
		return "0s"
	case d >= 10*time.Second:
		unit, name, digits = time.Second, "s", 3
	case d >= time.Second:
		unit, name, digits = time.Second, "s", 4
	case d >= time.Millisecond:
		unit, name, digits = time.Millisecond, "ms", 3
	case d < time.Microsecond:
		unit, name = time.Nanosecond, "ns"
	}
	power := math.Pow10(digits)
	return strconv.FormatFloat(math.Round(float64(d)/float64(unit)*power)/power, 'f', -1, 64) + name
}
