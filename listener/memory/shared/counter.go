package shared

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Counter returns numbers, starting at 1, that no other replica returns.
type Counter struct {
	state *State
	block int64 // how many numbers a replica takes at a time; 0 means one for each waiting caller
	keep  time.Duration

	waiting  atomic.Int64 // number of callers that wait for mu or hold it
	asking   sync.Mutex   // guards cell
	cell     Cell
	fetching atomic.Bool
	spare    atomic.Pointer[block]

	mu   sync.Mutex // guards the fields below
	have block
	last int64 // the last number that was returned
}

// block is the numbers after next, up to end.
type block struct{ next, end int64 }

const (
	// numbersTaken is how many numbers of a counter a replica takes at a time. It takes the next
	// ones when a quarter of them is left.
	numbersTaken = 1000
	// turnsKept is how long the turn of a value is remembered after its last use. A replica
	// remembers at least the last knownTurns values, and up to twice as many.
	turnsKept  = 24 * time.Hour
	knownTurns = 1 << 16
	// competing is how often a call is tried while it conflicts with other replicas.
	competing = 5
)

func keyOf(kind, name string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + name))
	return hex.EncodeToString(sum[:16])
}

// Numbers returns the counter with a name, which is the same for every call. If strict is true, its
// numbers are consecutive across all replicas, but each number may have to wait for the servers.
func (s *State) Numbers(name string, strict bool) *Counter {
	kind, size := "counter", int64(numbersTaken)
	if strict {
		kind, size = "sequence", 0
	}
	made, _ := s.numbers.LoadOrStore(kind+" "+name, &Counter{state: s, block: size, cell: Cell{Key: keyOf(kind, name)}})
	return made.(*Counter)
}

// Number returns the next number. Without the servers, it is a number of at least 2⁵², which
// another replica also returns with a probability of one in a million; CountLocal counts it.
func (c *Counter) Number() int64 {
	n, ok := c.next()
	if !ok {
		c.state.CountLocal()
		return c.state.localNumber()
	}
	return n
}

// Turn returns the next number. Without the servers, it is the number after the last one that this
// replica has seen; CountLocal counts it.
func (c *Counter) Turn() int64 {
	n, ok := c.next()
	if !ok {
		c.state.CountLocal()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last++
		return c.last
	}
	return n
}

// next returns the next number, and whether it is certain that no other replica has it.
func (c *Counter) next() (n int64, ok bool) {
	c.waiting.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.waiting.Add(-1) // under the lock: the next caller takes numbers for all that still wait
	if c.have.next == c.have.end {
		if c.have, ok = c.refill(); !ok {
			return 0, false
		}
	}
	c.have.next++
	c.last = max(c.last, c.have.next)
	if left := c.have.end - c.have.next; c.block > 0 && left == c.block/4 && c.fetching.CompareAndSwap(false, true) {
		last := c.last
		c.state.loop.Go(func() { c.fetch(last) })
	}
	return c.have.next, true
}

// fetch takes numbers before they are needed.
func (c *Counter) fetch(last int64) {
	defer c.fetching.Store(false)
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.spare.Load() != nil {
		return
	}
	if b, ok := c.take(c.block, last); ok {
		c.spare.Store(&b)
	}
}

// refill returns the numbers that were fetched in advance, or takes new ones.
func (c *Counter) refill() (b block, ok bool) {
	c.asking.Lock() // wait for a fetch in progress
	defer c.asking.Unlock()
	if b := c.spare.Swap(nil); b != nil {
		return *b, true
	}
	return c.take(max(c.block, c.waiting.Load()), c.last)
}

// take takes n numbers, all of them after the last one that this replica has returned: the servers
// may have lost their value. If take conflicts with other replicas, it tries again, up to competing
// times in all.
func (c *Counter) take(n, last int64) (b block, ok bool) {
	for range competing {
		err := c.state.Change(&c.cell, c.keep, func(v Value) (Value, bool) {
			v[0] = max(v[0], last) + n
			return v, true
		})
		if err == nil {
			end := c.cell.Value[0]
			return block{end - n, end}, true
		}
		if !errors.Is(err, ErrContended) {
			break
		}
	}
	return block{}, false
}

// Turns holds the counters for the values of an operand. Values that were not used for a day are
// forgotten.
type Turns struct {
	state *State
	name  string

	mu          sync.Mutex // guards the fields below
	now, before map[string]*Counter
}

// Turns returns the turns with a name.
func (s *State) Turns(name string) *Turns {
	return &Turns{state: s, name: name, now: map[string]*Counter{}}
}

// Of returns the counter of a value; the counter of nil is never forgotten.
func (t *Turns) Of(value []byte) *Counter {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.now[string(value)]
	if c != nil {
		return c
	}
	if len(t.now) >= knownTurns {
		t.before, t.now = t.now, map[string]*Counter{}
	}
	if c = t.before[string(value)]; c == nil {
		c = &Counter{state: t.state, cell: Cell{Key: keyOf("turn", t.name+"\x00"+string(value))}}
		if value != nil {
			c.keep = turnsKept
		}
	}
	t.now[string(value)] = c
	return c
}
