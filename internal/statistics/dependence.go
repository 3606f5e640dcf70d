package statistics

import "math"

// Dependence says how much values depend on others of about the same time: a stall of a machine
// delays many requests at once. The zero value stands for independent values.
type Dependence struct {
	// Effect is the variance of counts in blocks, as a multiple of that of independent values: n
	// values say as much as n/Effect independent ones.
	Effect float64 `json:"effect" doc:"how many of these values say as much as one independent value"`
	Blocks int     `json:"blocks" doc:"number of periods from which this is known"`
}

// effect returns the effect, with an allowance for the few blocks that it is known from.
func (d Dependence) effect() float64 {
	if d.Effect <= 1 || d.Blocks < 2 {
		return 1
	}
	t := student(float64(d.Blocks - 1))
	return d.Effect * (t / z) * (t / z)
}

// Block is a period: how many values there were, and how many of them, such as those above a limit,
// count.
type Block struct{ All, Counted float64 }

// fewestBlocks is how many blocks are needed to see that values depend on each other.
const fewestBlocks = 5

// Shares returns the dependence of values of which some count. It is zero unless the counts of the
// blocks differ by more than chance explains.
func Shares(blocks []Block) Dependence {
	return dependence(blocks, func(share float64) float64 { return 1 - share })
}

// Counts returns the dependence of events that are counted in periods of length All.
func Counts(blocks []Block) Dependence {
	return dependence(blocks, func(float64) float64 { return 1 })
}

// dependence judges the counts of blocks. variance is that of an independent count as a multiple of its
// expectation, by the share of all that counts.
func dependence(blocks []Block, variance func(share float64) float64) Dependence {
	var all, counted, squares float64
	for _, b := range blocks {
		all, counted = all+b.All, counted+b.Counted
	}
	share, n := counted/all, 0
	for _, b := range blocks {
		if expected := b.All * share; expected > 0 {
			squares += square(b.Counted-expected) / (expected * variance(share)) // not a number if all count
			n++
		}
	}
	return overdispersed(squares, n)
}

func square(x float64) float64 { return x * x }

// overdispersed judges a sum of squares of n blocks, whose distribution is chi-squared if values are
// independent. At the 99th percentile of that distribution, they are not.
func overdispersed(squares float64, n int) Dependence {
	freedom := float64(n - 1)
	if n < fewestBlocks || !(squares > freedom) {
		return Dependence{}
	}
	ninth := 2 / (9 * freedom)
	if normal := (math.Cbrt(squares/freedom) - 1 + ninth) / math.Sqrt(ninth); normal < 2.326 { // Wilson and Hilferty
		return Dependence{}
	}
	return Dependence{squares / freedom, n}
}
