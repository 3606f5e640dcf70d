package chart

import (
	"fmt"
	"math"
	"strings"
)

// Step returns 1, 2 or 5 times a power of ten: the smallest such step for which the given number of
// steps reaches most.
func Step(most float64, steps int) float64 {
	if most <= 0 {
		return 1
	}
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

// Decades returns a logarithmic axis that includes the given logarithms, with ticks at 1, 2 and 5
// times the powers of ten, or only at the powers of ten if there are many.
func Decades(logarithms []float64) Axis {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range logarithms {
		least, most = min(least, v), max(most, v)
	}
	if least > most {
		least, most = -1, 0
	}
	steps := []float64{1, 2, 5}
	if most-least > 4 {
		steps = steps[:1]
	}
	var a Axis
	for exponent := math.Floor(least); ; exponent++ {
		for _, n := range steps {
			v := exponent + math.Log10(n)
			if v <= least {
				a.Ticks = nil // the axis begins at the last tick that is not above the values
			}
			a.Ticks = append(a.Ticks, Tick{v, Number(n * math.Pow(10, exponent))})
			if v >= most && len(a.Ticks) > 1 {
				a.From, a.To = a.Ticks[0].At, v
				return a
			}
		}
	}
}

// Number formats a value of an axis, without trailing zeros.
func Number(value float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", value), "0"), ".")
}
