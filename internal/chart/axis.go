package chart

import "math"

// Step returns 1, 2 or 5 times a power of ten: the smallest such step for which the given number of
// steps reaches most, which is above 0.
func Step(most float64, steps int) float64 {
	rough := most / float64(steps)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range [...]float64{1, 2, 5} {
		if times*power >= rough {
			return times * power
		}
	}
	return 10 * power
}

// UpTo returns an axis from 0 to a round number that is not below most, with a tick for each of at
// most the given number of steps.
func UpTo(most float64, steps int, label func(float64) string) Axis {
	if most <= 0 {
		most = 1
	}
	step := Step(most, steps)
	var a Axis
	for i := 0; i == 0 || float64(i-1)*step < most*(1-1e-9); i++ {
		a.To = float64(i) * step
		a.Ticks = append(a.Ticks, Tick{a.To, label(a.To)})
	}
	return a
}
