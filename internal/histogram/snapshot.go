package histogram

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Snapshot is a reading of a histogram. Its durations have an error of at most 0.4 %.
type Snapshot struct {
	Count uint64
	Sum   time.Duration // with an error of at most 0.4 %
	Max   time.Duration // exact
	cells []lengthCell  // in ascending order
}

type lengthCell struct {
	end   time.Duration // the longest duration of the cell
	count uint64
}

// Read adds the histogram to l. Durations that are counted concurrently may or may not be included.
func (h *Histogram) Read(l *Snapshot) {
	var room [128]lengthCell // most histograms have fewer cells; then only one slice of the right size is allocated
	cells := room[:0]
	m := Snapshot{Max: time.Duration(h.max.Load())}
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
	if m.Count == 0 {
		return
	}
	m.cells = slices.Clone(cells)
	if l.Count > 0 {
		m = Sum(slices.Values([]Snapshot{*l, m}))
	}
	*l = m
}

// Since returns the durations that were added after an earlier reading of the same histogram.
func (l Snapshot) Since(before Snapshot) Snapshot {
	later := Snapshot{Sum: l.Sum - before.Sum, Max: l.Max}
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
			later.Max = min(l.Max, c.end) // the exact maximum is unknown
		}
	}
	if later.Count == 0 {
		later.Max = 0
	}
	return later
}

// OutOf returns the distribution of n durations: those in l, and 0 for all remaining ones.
func (l Snapshot) OutOf(n uint64) Snapshot {
	if n > l.Count {
		zero := Snapshot{Count: n - l.Count, cells: []lengthCell{{time.Duration(cellEnd(0, 0)), n - l.Count}}}
		return Sum(slices.Values([]Snapshot{l, zero}))
	}
	return l
}

// Quantile returns the duration that a share q of the durations, from 0 to 1, did not exceed; 0 if
// l is empty.
func (l Snapshot) Quantile(q float64) time.Duration {
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

// At returns the duration at a rank from 1 to Count that need not be whole, in nanoseconds. Within a
// cell, durations are taken to be evenly spread, so that low and high are equal. If a cell has many
// more durations than those next to it, as when all durations are equal, they may be anywhere in it,
// and low and high are its bounds.
func (l Snapshot) At(rank float64) (low, high float64) {
	before := 0.0
	for i, c := range l.cells {
		start, end := float64(cellStart(c.end)), min(float64(c.end)+1, float64(l.Max))
		within := rank - before
		if before += float64(c.count); before < rank && i < len(l.cells)-1 {
			continue
		}
		var neighbour uint64
		if i > 0 && l.cells[i-1].end == cellStart(c.end)-1 {
			neighbour = l.cells[i-1].count
		}
		if i < len(l.cells)-1 && cellStart(l.cells[i+1].end) == c.end+1 {
			neighbour = max(neighbour, l.cells[i+1].count)
		}
		start = min(start, end)
		if c.count > 2*neighbour {
			return start, end
		}
		at := start + (end-start)*min(max(within-0.5, 0)/float64(c.count), 1)
		return at, at
	}
	return 0, 0
}

// cellStart returns the shortest duration of a cell, given its end.
func cellStart(end time.Duration) time.Duration {
	return end + 1 - time.Duration(1)<<max(bits.Len64(uint64(end))-octaveBits-1, 0)
}

// Coarse returns the durations in cells sixteen times as wide, which take less memory.
func (l Snapshot) Coarse() Snapshot {
	wide := Snapshot{Count: l.Count, Sum: l.Sum, Max: l.Max}
	for _, c := range l.cells {
		end := c.end | time.Duration(1)<<max(bits.Len64(uint64(c.end))-octaveBits-1+4, 0) - 1
		if n := len(wide.cells); n > 0 && wide.cells[n-1].end == end {
			wide.cells[n-1].count += c.count
			continue
		}
		wide.cells = append(wide.cells, lengthCell{end, c.count})
	}
	wide.cells = slices.Clip(wide.cells)
	return wide
}

// Above returns the sum of the amounts by which durations exceed a limit.
func (l Snapshot) Above(limit time.Duration) (sum time.Duration) {
	for _, c := range l.cells {
		if d := min(middle(c.end), l.Max) - limit; d > 0 {
			sum += d * time.Duration(c.count)
		}
	}
	return sum
}

// Over returns how many durations exceed a limit. Those in the cell of the limit count, unless the cell
// ends with it.
func (l Snapshot) Over(limit time.Duration) (n uint64) {
	for _, c := range slices.Backward(l.cells) {
		if c.end <= limit {
			break
		}
		n += c.count
	}
	return n
}

// Mean returns the average; 0 if l is empty.
func (l Snapshot) Mean() time.Duration {
	if l.Count == 0 {
		return 0
	}
	return l.Sum / time.Duration(l.Count)
}

// Buckets returns for each bound how many durations are at most the bound. The bounds must be in
// ascending order.
func (l Snapshot) Buckets(bounds []time.Duration) []uint64 {
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

// Sum adds up several readings.
func Sum(all iter.Seq[Snapshot]) Snapshot {
	var counts [octaves]*[1 << octaveBits]uint64 // only the octaves that are needed
	var sum Snapshot
	for l := range all {
		sum.Sum += l.Sum
		sum.Max = max(sum.Max, l.Max)
		for _, c := range l.cells {
			i, cell := cellOf(int64(c.end))
			if counts[i] == nil {
				counts[i] = new([1 << octaveBits]uint64)
			}
			counts[i][cell] += c.count
		}
	}
	for i, octave := range counts {
		if octave == nil {
			continue
		}
		for cell, n := range octave {
			if n > 0 {
				sum.cells = append(sum.cells, lengthCell{time.Duration(cellEnd(i, cell)), n})
				sum.Count += n
			}
		}
	}
	return sum
}

// Counted returns a reading of a histogram in which each duration was counted as often as the sequence
// says.
func Counted(all iter.Seq2[time.Duration, uint64]) Snapshot {
	var h Histogram
	for d, n := range all {
		if n > 0 {
			h.Add(d)
			i, cell := cellOf(min(max(int64(d), 0), longestKept))
			h.octaves[i].Load()[cell].Add(n - 1)
		}
	}
	var l Snapshot
	h.Read(&l)
	return l
}
