package arrivals

import (
	"math"
	"time"

	"mockserver/internal/histogram"
)

const (
	// inWindow is the number of cells in 10 ms, and inBlock the number of windows whose dispersion is
	// computed: those of 250 ms, so that a rate that changes slowly does not count as bursts.
	inWindow = 40
	inBlock  = 25
	// fewest is how many arrivals in a block say something about their dispersion.
	fewest = 10
	// memory is the number of cells over which the expected rate is averaged, exponentially.
	memory = 1 << 10
	// A gap is a stop if it is at least shortestStop, and this many arrivals were expected in it: by
	// chance, there is one in 500 million. After longestStop without a request, the load has ended.
	shortestStop = 40 * time.Millisecond
	longestStop  = 2 * time.Second
	expectedStop = 20
	shortestGap  = time.Millisecond
	// late is how far back a ring is read again: a request is counted soon after it arrives.
	late = 1 << 9
)

// Series reads rings. It must not be used by several goroutines at once.
type Series struct {
	next  uint64 // the cell to be read next
	known [cells]uint32

	expected float64 // mean number of arrivals in a cell
	before   float64 // the same at the last arrival
	silent   int     // cells since the last arrival, at most longSilence
	window   uint64  // arrivals in the current window
	sum      float64 // of the windows in the current block
	squares  float64
	windows  int

	dispersion, gaps, bursts, stops histogram.Histogram
	tracking
}

// NewSeries returns a series that has read nothing.
func NewSeries() *Series { return &Series{silent: longSilence} }

// longSilence is longestStop in cells.
const longSilence = int(longestStop / cell)

// Read reads the arrivals up to a time since the recorder began. Successive reads of the same rings
// need increasing times.
func (s *Series) Read(rings []*Ring, now time.Duration) Figures {
	end := uint64(max(now, 0) / cell)
	if end > s.next+cells {
		s.skip(rings, end-cells)
	}
	from := s.next - min(s.next, late)
	for at := max(from, end-min(end, cells)); at < end; at++ {
		var n uint32
		for _, r := range rings {
			n += r.cells[at%cells].Load()
		}
		n, s.known[at%cells] = n-s.known[at%cells], n
		if at >= s.next { // otherwise it was counted late
			s.put(at, n)
		}
	}
	s.next = max(s.next, end)
	f := Figures{Until: time.Duration(s.next) * cell}
	for _, r := range rings {
		f.First += r.first.Load()
		f.Overlapping += r.overlapping.Load()
		r.idle.Read(&f.Idle)
	}
	f.Requests = f.First + f.Overlapping + f.Idle.Count
	for i, h := range [...]*histogram.Histogram{&s.dispersion, &s.gaps, &s.bursts, &s.stops} {
		h.Read(f.All()[i])
	}
	s.errors.Read(&f.Errors)
	return f
}

// skip leaves out the arrivals up to a cell: the rings no longer have their times, because they were
// not read for too long.
func (s *Series) skip(rings []*Ring, to uint64) {
	for i := range s.known {
		s.known[i] = 0
		for _, r := range rings {
			s.known[i] += r.cells[i].Load()
		}
	}
	s.next, s.silent, s.window, s.windows, s.sum, s.squares = to, longSilence, 0, 0, 0, 0
}

// put adds the n arrivals of a cell.
func (s *Series) put(at uint64, n uint32) {
	s.expected += (float64(n) - s.expected) / memory
	if n > 0 {
		if s.silent == longSilence {
			s.restart()
		} else {
			s.gap(time.Duration(s.silent) * cell)
		}
		s.silent, s.before = 0, s.expected
		s.follow(at, int(n))
	} else {
		s.silent = min(s.silent+1, longSilence)
	}
	if s.window += uint64(n); (at+1)%inWindow > 0 {
		return
	}
	x := float64(s.window)
	if s.window > 0 {
		s.bursts.Add(time.Duration(s.window))
	}
	s.sum, s.squares, s.window = s.sum+x, s.squares+x*x, 0
	if s.windows++; s.windows < inBlock {
		return
	}
	if s.sum >= fewest {
		variance := (s.squares - s.sum*s.sum/inBlock) / (inBlock - 1)
		s.dispersion.Add(time.Duration(math.Round(variance / (s.sum / inBlock) * float64(time.Microsecond))))
	}
	s.windows, s.sum, s.squares = 0, 0, 0
}

// gap adds the time without an arrival that ends.
func (s *Series) gap(length time.Duration) {
	if length >= shortestGap {
		s.gaps.Add(length)
	}
	if length >= shortestStop && s.before*float64(length/cell) >= expectedStop {
		s.stops.Add(length)
	}
}
