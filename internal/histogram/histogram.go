// Package histogram counts durations and returns their percentiles.
package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Histogram counts durations, from any number of goroutines and without a lock. Durations from a
// nanosecond to an hour are stored with an error of at most 0.4 %; longer ones are counted, and
// only their maximum is known. An octave takes 1 KiB once a duration falls into it; most histograms
// have three to five octaves. The zero value is ready to use.
type Histogram struct {
	max     atomic.Int64 // nanoseconds; shares a cache line with the octaves of short durations
	octaves [octaves]atomic.Pointer[octave]
}

// octave contains the counts of durations with the same highest bit.
type octave [1 << octaveBits]atomic.Uint64

const (
	octaveBits = 7 // bits that are stored below the highest one
	// octaves is the number of octaves: one for durations below 2^octaveBits, which is exact, and
	// one for each further bit.
	octaves = 36
	// longestKept is the end of the last octave: 73 minutes.
	longestKept = 1<<(octaveBits+octaves-1) - 1
)

// Add counts a duration. A negative duration counts as 0.
func (h *Histogram) Add(d time.Duration) {
	ns := max(int64(d), 0)
	i, cell := cellOf(min(ns, longestKept))
	o := h.octaves[i].Load()
	if o == nil {
		o = h.grow(i)
	}
	o[cell].Add(1)
	h.raise(ns)
}

func (h *Histogram) raise(ns int64) {
	for most := h.max.Load(); ns > most; most = h.max.Load() {
		if h.max.CompareAndSwap(most, ns) {
			return
		}
	}
}

// Merge adds the counts of m, which must no longer change.
func (h *Histogram) Merge(m *Histogram) {
	for i := range m.octaves {
		from := m.octaves[i].Load()
		if from == nil {
			continue
		}
		into := h.octaves[i].Load()
		if into == nil {
			into = h.grow(i)
		}
		for cell := range from {
			if n := from[cell].Load(); n > 0 {
				into[cell].Add(n)
			}
		}
	}
	h.raise(m.max.Load())
}

// grow allocates an octave, unless another goroutine has just done so.
func (h *Histogram) grow(i int) *octave {
	h.octaves[i].CompareAndSwap(nil, new(octave))
	return h.octaves[i].Load()
}

// cellOf returns the octave of a duration and the cell in that octave.
func cellOf(ns int64) (octave, cell int) {
	octave = max(bits.Len64(uint64(ns))-octaveBits, 0)
	if octave == 0 {
		return 0, int(ns)
	}
	return octave, int(ns>>(octave-1)) & (1<<octaveBits - 1)
}

// cellEnd returns the longest duration of a cell.
func cellEnd(octave, cell int) int64 {
	if octave == 0 {
		return int64(cell)
	}
	return (int64(1<<octaveBits|cell)+1)<<(octave-1) - 1
}

// middle returns the middle of a cell, given its end.
func middle(end time.Duration) time.Duration {
	shift := max(bits.Len64(uint64(end))-octaveBits-1, 0)
	return end - time.Duration(1)<<shift/2
}
