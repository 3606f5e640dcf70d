package listener

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// histogram counts lengths of time, from any number of goroutines and without a lock.
// A length is kept to within 0.4 %, from a nanosecond to a minute; of what is longer
// only the longest is known. Room is made for an octave, 1 KiB, when the first length falls into
// it: most have three to five. The zero value is ready.
type histogram struct {
	max     atomic.Int64 // nanoseconds; beside the octaves of short lengths, in their line of memory
	octaves [octaves]atomic.Pointer[octave]
}

// octave is the counts of lengths that have the same highest bit.
type octave [1 << octaveBits]atomic.Uint64

const (
	octaveBits = 7 // of a length that are kept below its highest
	// octaves are the one below 2^octaveBits, which is exact, and one for each further bit.
	octaves = 30
	// longestKept is the end of the last octave: 68 s.
	longestKept = 1<<(octaveBits+octaves-1) - 1
)

// add counts one length; below 0 it is 0.
func (h *histogram) add(d time.Duration) {
	ns := max(int64(d), 0)
	i, cell := cellOf(min(ns, longestKept))
	o := h.octaves[i].Load()
	if o == nil {
		o = h.grow(i)
	}
	o[cell].Add(1)
	h.raise(ns)
}

func (h *histogram) raise(ns int64) {
	for most := h.max.Load(); ns > most; most = h.max.Load() {
		if h.max.CompareAndSwap(most, ns) {
			return
		}
	}
}

// merge adds what m holds, which is not added to any more.
func (h *histogram) merge(m *histogram) {
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
func (h *histogram) grow(i int) *octave {
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

// Lengths is a histogram as it was when it was read: lengths of time, to within 0.4 %.
type Lengths struct {
	Count uint64
	Sum   time.Duration // to within 0.4 %, as each of them
	Max   time.Duration // exact
	cells []lengthCell  // rising
}

type lengthCell struct {
	end   time.Duration // the longest in it
	count uint64
}

// read adds what the histogram holds to what l does. What is counted meanwhile may be
// in it or not.
func (h *histogram) read(l *Lengths) {
	var room [128]lengthCell // most have fewer: one list is made then, of the size that it has
	cells := room[:0]
	m := Lengths{Max: time.Duration(h.max.Load())}
	for i := range h.octaves {
		o := h.octaves[i].Load()
		if o == nil {
			continue
		}
		for cell := range o {
			if n := o[cell].Load(); n > 0 {
				end := time.Duration(cellEnd(i, cell))
				cells = append(cells, lengthCell{end, n})
				m.Sum += middle(end) * time.Duration(n)
				m.Count += n
			}
		}
	}
	if l.Count == 0 && m.Count > 0 {
		m.cells = slices.Clone(cells)
		*l = m
		return
	}
	l.merge(Lengths{Count: m.Count, Sum: m.Sum, Max: m.Max, cells: cells})
}

// merge adds the lengths of m to l.
func (l *Lengths) merge(m Lengths) {
	l.Sum += m.Sum
	l.Max = max(l.Max, m.Max)
	if m.Count == 0 {
		return
	}
	merged := make([]lengthCell, 0, len(l.cells)+len(m.cells))
	a, b := l.cells, m.cells
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].end < b[0].end:
			merged, a = append(merged, a[0]), a[1:]
		case len(a) == 0 || b[0].end < a[0].end:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged = append(merged, lengthCell{a[0].end, a[0].count + b[0].count})
			a, b = a[1:], b[1:]
		}
	}
	l.cells, l.Count = merged, 0
	for _, c := range merged {
		l.Count += c.count
	}
}

// Since is what came after an earlier reading of the same.
func (l Lengths) Since(before Lengths) Lengths {
	later := Lengths{Sum: l.Sum - before.Sum, Max: l.Max}
	had := before.cells
	for _, c := range l.cells {
		for len(had) > 0 && had[0].end < c.end {
			had = had[1:]
		}
		n := c.count
		if len(had) > 0 && had[0].end == c.end {
			n -= had[0].count
		}
		if n > 0 {
			later.cells = append(later.cells, lengthCell{c.end, n})
			later.Count += n
			later.Max = min(l.Max, c.end) // no exact one is known of a part
		}
	}
	if later.Count == 0 {
		later.Max = 0
	}
	return later
}

// Quantile is the length that a share q, from 0 to 1, did not exceed; 0 when there is none.
func (l Lengths) Quantile(q float64) time.Duration {
	if l.Count == 0 {
		return 0
	}
	rank := min(max(uint64(math.Ceil(q*float64(l.Count))), 1), l.Count)
	var seen uint64
	for _, c := range l.cells {
		if seen += c.count; seen >= rank && seen < l.Count {
			return min(middle(c.end), l.Max)
		}
	}
	if rank == l.Count || len(l.cells) == 0 || l.Max > longestKept {
		return l.Max
	}
	return min(middle(l.cells[len(l.cells)-1].end), l.Max)
}

// Mean is the average; 0 when there is none.
func (l Lengths) Mean() time.Duration {
	if l.Count == 0 {
		return 0
	}
	return l.Sum / time.Duration(l.Count)
}

// Buckets are how many lengths are no longer than each of the bounds, which rise.
func (l Lengths) Buckets(bounds []time.Duration) []uint64 {
	counts := make([]uint64, len(bounds))
	i := 0
	var seen uint64
	for b, bound := range bounds {
		for i < len(l.cells) && l.cells[i].end <= bound {
			seen += l.cells[i].count
			i++
		}
		counts[b] = seen
	}
	return counts
}
