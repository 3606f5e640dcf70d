package renderer

import (
	"sync"
	"sync/atomic"

	"mockserver/internal/keyed"
)

// Counters are the counters of counter("name"). They belong to a server and outlive its snapshots,
// so a reload does not reset them. The zero value is ready for use.
type Counters struct {
	mu     sync.Mutex          // guards byName
	byName map[string]*counter // by function and name
}

// counter counts all requests and, separately, those with each value of an operand.
type counter struct {
	n     atomic.Int64
	keyed keyed.Counts
}

// named returns the counter of a function with a name, and creates it if necessary.
func (c *Counters) named(function, name string) *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]*counter{}
	}
	name = function + " " + name
	if c.byName[name] == nil {
		c.byName[name] = &counter{}
	}
	return c.byName[name]
}
