package statistics

import (
	"math"
	"slices"

	"mockserver/internal/list"
)

// Scale is what a difference is measured by.
type Scale int

// The scales. Ratio is for durations and rates, whose distributions are skewed.
const (
	Absolute Scale = iota
	Ratio
)

// Difference is the difference between two figures, the second minus the first, with its 95 %
// interval. Chance is how likely it is that figures with the same true value differ as much.
type Difference struct{ Value, Low, High, Chance float64 }

// Compare compares two figures that are determined. The interval of the difference follows from
// those of the figures by the method of variance estimates recovery, which Newcombe described for
// shares: each side contributes the half of its interval that faces the other.
func Compare(a, b Figure, by Scale) Difference {
	of := func(x *float64) float64 { return *x }
	if *a.Value == 0 || *b.Value == 0 {
		by = Absolute // nothing is a multiple of 0
	}
	if by == Ratio {
		const least = 1e-6 // a nanosecond; the logarithm of 0 is not finite
		of = func(x *float64) float64 { return math.Log(max(*x, least)) }
	}
	difference := of(b.Value) - of(a.Value)
	down := math.Hypot(of(b.Value)-of(b.Low), of(a.High)-of(a.Value))
	up := math.Hypot(of(b.High)-of(b.Value), of(a.Value)-of(a.Low))
	d := Difference{difference, difference - down, difference + up, 1}
	facing := down
	if difference < 0 {
		facing = up
	}
	if difference != 0 {
		d.Chance = chance(math.Abs(difference)/facing, a.blocks+b.blocks)
	}
	if by == Ratio {
		back := func(x float64) float64 { return max(*a.Value, 0) * math.Expm1(x) }
		d.Value, d.Low, d.High = *b.Value-*a.Value, back(d.Low), back(d.High)
	}
	return d
}

// chance returns how likely a difference of so many halves of its interval is by chance. If the
// intervals come from few blocks, large differences are more likely.
func chance(halves float64, blocks int) float64 {
	if blocks < 3 {
		return math.Erfc(z * halves / math.Sqrt2)
	}
	freedom := float64(blocks - 2)
	t := student(freedom) * halves
	return beta(freedom/(freedom+t*t), freedom/2, 0.5)
}

// student returns the quantile of Student's distribution that belongs to an interval of 95 %.
func student(freedom float64) float64 {
	const z3, z5 = z * z * z, z * z * z * z * z
	return z + (z3+z)/(4*freedom) + (5*z5+16*z3+3*z)/(96*freedom*freedom) + (3*z5*z*z+19*z5+17*z3-15*z)/(384*freedom*freedom*freedom)
}

// Discoveries reports which of several differences are more than chance, so that at most a share of
// those reported are chance, by the procedure of Benjamini and Hochberg. If all differences are
// chance, something is reported with at most the same probability.
func Discoveries(chances []float64, share float64) []bool {
	sorted := slices.Sorted(slices.Values(chances))
	limit := -1.0
	for i, p := range sorted {
		if p <= share*float64(i+1)/float64(len(sorted)) {
			limit = p
		}
	}
	return list.Map(chances, func(p float64) bool { return p <= limit })
}
