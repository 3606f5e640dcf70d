package traffic

import "time"

// Held is a place of a capacity that a request holds.
type Held struct {
	Capacity *Capacity // nil for none
	Begun    time.Time
	Ends     time.Time // when the place is due to be freed; zero means when Leave is called
}

// Waits sets the time at which the place is due to be freed: after the latency or after the work,
// whichever takes longer.
func (h *Held) Waits(since time.Time, latency time.Duration) {
	if h.Capacity != nil {
		h.Ends = since.Add(max(latency, time.Since(h.Begun)))
	}
}

// Leave frees the place.
func (h *Held) Leave() {
	if h.Ends.IsZero() {
		h.Ends = time.Now()
	}
	if h.Capacity != nil {
		h.Capacity.Leave(h.Ends)
	}
}
