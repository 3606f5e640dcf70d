package matcher

import (
	"math/bits"
	"math/rand/v2"
)

// Random is where the random choices of a request come from: from the process, or,
// once it has a seed, from a stream of numbers of its own. The zero value has none.
// It is a rand.Source.
type Random struct {
	seeded bool
	stream rand.PCG
}

// Seed begins the stream of one request: that of the number given, among all that
// belong to the seed. The same two begin the same stream.
func (r *Random) Seed(seed, number uint64) {
	r.seeded = true
	r.stream.Seed(Mix(seed), Mix(seed+Mix(number)))
}

// Mix is a number in which each bit depends on all bits of n, one for each n: what
// makes unlike streams of seeds that are alike (splitmix64).
func Mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// Seeded reports whether the numbers are those of a stream.
func (r *Random) Seeded() bool { return r.seeded }

// Uint64 is the next number.
func (r *Random) Uint64() uint64 {
	if !r.seeded {
		return rand.Uint64()
	}
	return r.stream.Uint64()
}

// Uint64N is a number below n, which is above 0.
func (r *Random) Uint64N(n uint64) uint64 {
	high, low := bits.Mul64(r.Uint64(), n)
	if low < n { // few numbers would come more often than others: D. Lemire, 2019
		for below := -n % n; low < below; {
			high, low = bits.Mul64(r.Uint64(), n)
		}
	}
	return high
}

// IntN is a number from 0 to n-1; n is above 0.
func (r *Random) IntN(n int) int { return int(r.Uint64N(uint64(n))) }

// Float64 is a number from 0 to below 1.
func (r *Random) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }
