package traffic

import (
	"errors"
	"fmt"
	"time"

	"mockserver/config/item"
	"mockserver/internal/places"
	"mockserver/internal/wording"
	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
)

// Capacity limits how many requests to an endpoint are served at once.
type Capacity struct {
	*places.Places
	full *reply.Preset // the reply to a refused request
}

// carriedCapacity returns the capacity that an endpoint declares, or nil if it declares none. If
// the endpoint declared the same capacity before a reload, that capacity is reused: requests being
// served count, and waiting ones keep their turn.
func carriedCapacity(k *Carried, e *item.Endpoint) *Capacity {
	declared := e.Capacity
	if declared == nil {
		return nil
	}
	return Shared(k, e, fmt.Sprint("capacity ", declared.Concurrent, declared.Queue), func() *Capacity {
		full := fmt.Sprintf("all places are taken: this endpoint serves %s at once, and lets %d wait",
			wording.Count(declared.Concurrent, "request"), declared.Queue)
		return &Capacity{places.New(declared.Concurrent, declared.Queue), reply.CapacityExceeded.Preset(full)}
	})
}

// Held is a place of a capacity that a request holds.
type Held struct {
	Capacity *Capacity // nil for none
	Use      *TokenUse // of which the rest is given back; nil for none
	begun    time.Time
	Ends     time.Time // when the place is due to be freed; zero means when Leave is called
}

// Enter waits for a place for a request that arrived at came. It reports whether the request has a
// place, and since when; Leave must then be called. Otherwise the request has been answered, or its
// client left.
func (h *Held) Enter(w places.Waiter, came time.Time, p *reply.Reply, t *record.Trace) (since time.Time, ok bool) {
	h.begun = time.Now()
	since, waited, err := h.Capacity.Places.Enter(w, came, time.Time{})
	if waited {
		t.Waits(max(since.Sub(h.begun), 0))
		h.begun = time.Now()
	}
	if errors.Is(err, places.ErrFull) {
		t.Refused = true
		h.Capacity.full.Write(p)
	}
	return since, err == nil
}

// Waits sets the time at which the place is due to be freed: after the latency or after the work,
// whichever takes longer.
func (h *Held) Waits(since time.Time, latency time.Duration) {
	if h.Capacity != nil {
		h.Ends = since.Add(max(latency, time.Since(h.begun)))
	}
}

// Leave frees the place, if there is one.
func (h *Held) Leave() {
	if h.Use != nil {
		h.Use.giveBack()
	}
	if h.Capacity == nil {
		return
	}
	if h.Ends.IsZero() {
		h.Ends = time.Now()
	}
	h.Capacity.Leave(h.Ends)
}
