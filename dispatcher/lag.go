package dispatcher

import (
	"math/bits"
	"time"
)

// Lag is a histogram of how late deliveries were sent: sent minus due. A value is
// kept to within 1 %, from a microsecond to an hour; what is later counts as that.
type Lag struct {
	Count uint64
	Max   time.Duration // exact
	sum   time.Duration
	cells [lagCells]uint64
}

const (
	lagBits  = 7 // of a value that are kept: 1 % and better
	lagCells = (lagOctaves + 1) << lagBits
	// lagOctaves above the values that are kept in microseconds: 2^(7+25) µs is 71 min.
	lagOctaves = 25
)

// add counts one delivery. One sent early is not late.
func (l *Lag) add(late time.Duration) {
	late = max(late, 0)
	l.Count++
	l.Max = max(l.Max, late)
	l.sum += late
	l.cells[lagCell(late)]++
}

func lagCell(late time.Duration) int {
	us := uint64(late / time.Microsecond)
	octave := max(bits.Len64(us)-lagBits-1, 0)
	if octave >= lagOctaves {
		return lagCells - 1
	}
	return octave<<lagBits + int(us>>octave)
}

// Sum is all of them together.
func (l *Lag) Sum() time.Duration { return l.sum }

// Mean is the average; 0 when there is none.
func (l *Lag) Mean() time.Duration {
	if l.Count == 0 {
		return 0
	}
	return l.sum / time.Duration(l.Count)
}

// Since is what came after an earlier reading of the same queue. Its Max is exact only
// when it is that of all; else it is to within 1 %.
func (l *Lag) Since(before *Lag) Lag {
	later := Lag{Count: l.Count - before.Count, sum: l.sum - before.sum}
	for i, n := range l.cells {
		later.cells[i] = n - before.cells[i]
		if later.cells[i] > 0 {
			later.Max = min(lagCeiling(i), l.Max)
		}
	}
	return later
}

// Buckets are how many lags were no longer than each of the bounds, which rise.
func (l *Lag) Buckets(bounds []time.Duration) []uint64 {
	counts := make([]uint64, len(bounds))
	i := 0
	var seen uint64
	for b, bound := range bounds {
		for ; i < lagCells && lagCeiling(i) <= bound; i++ {
			seen += l.cells[i]
		}
		counts[b] = seen
	}
	return counts
}

// Quantile returns the lag that a share q of the deliveries, from 0 to 1, did not
// exceed; 0 when there is none.
func (l *Lag) Quantile(q float64) time.Duration {
	if l.Count == 0 {
		return 0
	}
	rank := uint64(q*float64(l.Count-1)) + 1
	var seen uint64
	for i, n := range l.cells {
		if seen += n; seen >= rank {
			return min(lagCeiling(i), l.Max)
		}
	}
	return l.Max
}

// lagCeiling is the largest value of a cell.
func lagCeiling(cell int) time.Duration {
	octave := max(cell>>lagBits-1, 0)
	us := uint64(cell-octave<<lagBits)<<octave + 1<<octave - 1
	return time.Duration(us)*time.Microsecond + 999*time.Nanosecond
}
