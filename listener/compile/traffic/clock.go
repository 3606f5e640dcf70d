package traffic

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config/item"
)

// Clock is the clock of the streams of an endpoint that share a rate. While they want to send more items a second
// than that, it runs slower than the clock on the wall, for all of them alike. A change of the number of streams
// costs the same however many there are.
type Clock struct {
	rate float64 // items a second

	mu     sync.Mutex // held during a change
	demand float64    // items a second that the open streams want to send
	state  atomic.Pointer[clockState]
}

// clockState is how the clock has run since the last change.
type clockState struct {
	wall, clock time.Time // the same moment, by both clocks
	factor      float64   // seconds on the wall that are one second of the clock; at least 1
}

// NewClock returns the clock of an endpoint for a rate in items a second. An endpoint that a reload leaves unchanged
// keeps its clock.
func NewClock(k *Carried, e *item.Endpoint, rate float64) *Clock {
	return Shared(k, e, fmt.Sprint("clock ", rate), func() *Clock {
		c, now := &Clock{rate: rate}, time.Now()
		c.state.Store(&clockState{now, now, 1})
		return c
	})
}

// Wall returns when a time of the clock comes, if the clock goes on as now.
func (c *Clock) Wall(t time.Time) time.Time {
	s := c.state.Load()
	return s.wall.Add(time.Duration(float64(t.Sub(s.clock)) * s.factor))
}

func (s *clockState) at(wall time.Time) time.Time {
	return s.clock.Add(time.Duration(float64(wall.Sub(s.wall)) / s.factor))
}

// Enter adds a stream that wants to send so many items a second, and returns a time on the wall by the clock.
func (c *Clock) Enter(wall time.Time, demand float64) time.Time {
	t := c.state.Load().at(wall)
	c.change(demand)
	return t
}

// Leave takes the stream away.
func (c *Clock) Leave(demand float64) { c.change(-demand) }

// Factor returns how many seconds on the wall one second of the clock takes.
func (c *Clock) Factor() float64 { return c.state.Load().factor }

func (c *Clock) change(demand float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.demand += demand
	c.state.Store(&clockState{now, c.state.Load().at(now), max(1, c.demand/c.rate)})
}
