package listener

import (
	"iter"
	"slices"
	"time"
)

// SumOfLengths is several readings as one: those of all endpoints, say.
func SumOfLengths(all iter.Seq[Lengths]) Lengths {
	var counts [octaves][1 << octaveBits]uint64
	var sum Lengths
	for l := range all {
		sum.Sum += l.Sum
		sum.Max = max(sum.Max, l.Max)
		for _, c := range l.cells {
			i, cell := cellOf(int64(c.end))
			counts[i][cell] += c.count
		}
	}
	for i := range counts {
		for cell, n := range counts[i] {
			if n > 0 {
				sum.cells = append(sum.cells, lengthCell{time.Duration(cellEnd(i, cell)), n})
				sum.Count += n
			}
		}
	}
	return sum
}

// LengthsOf is what a histogram of these lengths would be read as.
func LengthsOf(lengths ...time.Duration) Lengths {
	var h histogram
	for _, d := range lengths {
		h.add(d)
	}
	var l Lengths
	h.read(&l)
	l.cells = slices.Clip(l.cells)
	return l
}
