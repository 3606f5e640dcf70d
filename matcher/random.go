package matcher

import (
	"math/bits"
	"math/rand/v2"
)

// Random is the source of the random choices of a request: the generator of the process or, after
// Seed, its own stream of numbers. The zero value has no seed. Random is a rand.Source.
type Random struct {
	seeded bool
	stream rand.PCG
}

// Seed begins the stream of one request. number selects the stream among those of the seed. The
// same seed and number always begin the same stream.
func (r *Random) Seed(seed, number uint64) {
	r.seeded = true
	r.stream.Seed(Mix(seed), Mix(seed+Mix(number)))
}

// Mix returns a number in which each bit depends on all bits of n. The result is different for each
// n, so similar seeds get dissimilar streams (splitmix64).
func Mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// Seeded reports whether the numbers come from a seeded stream.
func (r *Random) Seeded() bool { return r.seeded }

// Uint64 returns the next number.
func (r *Random) Uint64() uint64 {
	if !r.seeded {
		return rand.Uint64()
	}
	return r.stream.Uint64()
}

// Uint64N returns a number below n, which must be above 0.
func (r *Random) Uint64N(n uint64) uint64 {
	high, low := bits.Mul64(r.Uint64(), n)
	if low < n { // otherwise some numbers would occur more often than others: D. Lemire, 2019
		for below := -n % n; low < below; {
			high, low = bits.Mul64(r.Uint64(), n)
		}
	}
	return high
}

// IntN returns a number from 0 to n-1; n must be above 0.
func (r *Random) IntN(n int) int { return int(r.Uint64N(uint64(n))) }

// Float64 returns a number from 0 up to, but not including, 1.
func (r *Random) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }
