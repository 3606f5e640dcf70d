package arrivals

import (
	"sync"
	"time"

	"mockserver/internal/histogram"
)

const (
	inWindow = 40      // cells of 10 ms
	inBlock  = 25      // windows whose dispersion is computed; a rate that changes slowly does not count as bursts
	fewest   = 10      // arrivals in a block that say something about their dispersion
	average  = 1 << 10 // cells over which the expected rate is averaged, exponentially
	// A gap is a stop if it is at least shortestStop, and this many arrivals were expected in it: by
	// chance, there is one in 500 million. After longestGap without a request, the load has ended.
	shortestStop = 40 * time.Millisecond
	expectedStop = 20
	longestGap   = 2 * time.Second
	shortestGap  = time.Millisecond
	late         = 1 << 9 // cells that are read again: a request is counted soon after it arrives
)

// Series reads rings. Its methods may be called from any goroutine.
type Series struct {
	mu       sync.Mutex // guards the fields below
	next     uint64     // the cell to be read next
	known    [cells]uint32
	expected float64       // mean number of arrivals in a cell
	before   float64       // the same at the last arrival
	left     time.Duration // of longestGap since the last arrival

	window, windows int     // arrivals in the current window, and windows in the current block
	sum, squares    float64 // of these windows

	dispersion, gaps, bursts, stops histogram.Histogram
	tracking
}

// Read reads the arrivals up to a time since the recorder began. The rings must be the same each time.
func (s *Series) Read(rings []*Ring, now time.Duration) Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := uint64(max(now, 0) / cell)
	lapped := end > s.next+cells // the rings do not have the times of all arrivals
	for at := max(s.next, late, end-min(end, cells-late)) - late; at < end; at++ {
		var n uint32
		for _, r := range rings {
			n += r.cells[at%cells].Load()
		}
		n, s.known[at%cells] = n-s.known[at%cells], n
		if at >= s.next && !lapped { // otherwise it was counted late
			s.put(at, int(n))
		}
	}
	if s.next = max(s.next, end); lapped {
		s.left = 0
	}
	var f Figures
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

// put adds the n arrivals of a cell.
func (s *Series) put(at uint64, n int) {
	s.expected += (float64(n) - s.expected) / average
	if n == 0 {
		s.left = max(s.left-cell, 0)
	} else {
		s.arrive(at, n)
	}
	if s.window += n; (at+1)%inWindow > 0 {
		return
	}
	if s.window > 0 {
		s.bursts.Add(time.Duration(s.window))
	}
	x := float64(s.window)
	s.sum, s.squares, s.window, s.windows = s.sum+x, s.squares+x*x, 0, s.windows+1
	if s.windows < inBlock {
		return
	}
	if s.sum >= fewest {
		variance := (s.squares - s.sum*s.sum/inBlock) / (inBlock - 1)
		s.dispersion.Add(time.Duration(variance / (s.sum / inBlock) * float64(time.Millisecond)))
	}
	s.windows, s.sum, s.squares = 0, 0, 0
}

// arrive ends a gap, or begins a load.
func (s *Series) arrive(at uint64, n int) {
	switch silent := longestGap - s.left; {
	case s.left == 0:
		s.count = 0
	case silent >= shortestStop && s.before*float64(silent/cell) >= expectedStop:
		s.stops.Add(silent)
		fallthrough
	case silent >= shortestGap:
		s.gaps.Add(silent)
	}
	s.left, s.before = longestGap, s.expected
	s.follow(at, n)
}
