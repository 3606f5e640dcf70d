// Package histogram counts lengths of time, and tells their percentiles.
package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Histogram counts lengths of time, from any number of goroutines and without a lock.
// A length is kept to within 0.4 %, from a nanosecond to an hour; of what is longer
// only the longest is known. Room is made for an octave, 1 KiB, when the first length falls into
// it: most have three to five. The zero value is ready.
type Histogram struct {
	max     atomic.Int64 // nanoseconds; beside the octaves of short lengths, in their line of memory
	octaves [octaves]atomic.Pointer[octave]
}

// octave is the counts of lengths that have the same highest bit.
type octave [1 << octaveBits]atomic.Uint64

const (
	octaveBits = 7 // of a length that are kept below its highest
	// octaves are the one below 2^octaveBits, which is exact, and one for each further bit.
	octaves = 36
	// longestKept is the end of the last octave: 73 minutes.
	longestKept = 1<<(octaveBits+octaves-1) - 1
)

// Add counts one length; below 0 it is 0.
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

// Merge adds what m holds, which is not added to any more.
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

// grow makes room for an octave, unless another just did.
func (h *Histogram) grow(i int) *octave {
	h.octaves[i].CompareAndSwap(nil, new(octave))
	return h.octaves[i].Load()
}

// cellOf is the octave of a length and the cell in it.
func cellOf(ns int64) (octave, cell int) {
	octave = max(bits.Len64(uint64(ns))-octaveBits, 0)
	if octave == 0 {
		return 0, int(ns)
	}
	return octave, int(ns>>(octave-1)) & (1<<octaveBits - 1)
}

// cellEnd is the longest length of a cell.
func cellEnd(octave, cell int) int64 {
	if octave == 0 {
		return int64(cell)
	}
	return (int64(1<<octaveBits|cell)+1)<<(octave-1) - 1
}

// middle is the one in the middle of a cell, by its longest.
func middle(end time.Duration) time.Duration {
	shift := max(bits.Len64(uint64(end))-octaveBits-1, 0)
	return end - time.Duration(1)<<shift/2
}
