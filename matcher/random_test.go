package matcher

import (
	"math"
	"testing"
)

func TestRandom_AStreamIsThatOfSeedAndNumber(t *testing.T) {
	draw := func(seed, number uint64) (drawn [4]uint64) {
		var r Random
		r.Seed(seed, number)
		for i := range drawn {
			drawn[i] = r.Uint64()
		}
		return drawn
	}
	if a, b := draw(1, 2), draw(1, 2); a != b {
		t.Errorf("the same seed and number: got %x and %x", a, b)
	}
	seen := map[uint64]bool{}
	for seed := range uint64(100) {
		for number := range uint64(100) {
			for _, n := range draw(seed, number) {
				if seen[n] {
					t.Fatalf("seed %d, number %d: %x was drawn before", seed, number, n)
				}
				seen[n] = true
			}
		}
	}
	var a, b Random
	if a.Uint64() == b.Uint64() {
		t.Error("two requests without a seed drew the same")
	}
}

// The first numbers of consecutive streams, from which the choices of requests are made, are as
// random as the numbers of one stream. Their chi-square over 100 parts has 99 degrees of freedom;
// it exceeds 149 once in a thousand times.
func TestRandom_FirstNumbersAreUniform(t *testing.T) {
	for _, seed := range []uint64{0, 1, 42, math.MaxUint64} {
		const n, parts = 100_000, 100
		var floats, ints [parts]float64
		for number := range uint64(n) {
			var r Random
			r.Seed(seed, number)
			floats[int(r.Float64()*parts)]++
			ints[r.IntN(parts)]++
		}
		for name, counts := range map[string][parts]float64{"Float64": floats, "IntN": ints} {
			sum := 0.0
			for _, count := range counts {
				sum += (count - n/parts) * (count - n/parts) / (n / parts)
			}
			if sum > 149 {
				t.Errorf("seed %d: chi-square of %s is %.0f, want at most 149", seed, name, sum)
			}
		}
	}
}

func TestRandom_StaysBelow(t *testing.T) {
	for _, r := range []Random{{}, {seeded: true}} {
		for _, n := range []uint64{1, 2, 3, 1 << 63, 1<<63 + 1, math.MaxUint64} {
			for range 1000 {
				if got := r.Uint64N(n); got >= n {
					t.Fatalf("got %d, want below %d", got, n)
				}
			}
		}
		for range 1000 {
			if f := r.Float64(); f < 0 || f >= 1 {
				t.Fatalf("got %v, want 0 to below 1", f)
			}
		}
	}
}
