package load

import (
	"math"
	"sync/atomic"
	"time"
)

// schedule is the time of one load: the time that is counted, and when requests are due. Its times
// are nanoseconds since it started. start is called before any generator reads it; the other
// methods may be called from any goroutine.
type schedule struct {
	rate      float64 // requests a second; with 0 no request is ever due
	origin    time.Time
	begin     atomic.Int64 // when counting begins
	end       atomic.Int64 // when counting and sending end
	abandoned atomic.Bool  // given up: nothing is awaited any more
	dueFrom   int64        // the first request that counts, and the first that is not sent any more
	dueTo     int64
}

func newSchedule(rate float64) *schedule { return &schedule{rate: rate, origin: time.Now()} }

// start begins the schedule. With a rate it determines the requests that count: those due within
// the counted time, however late the clock is read. Without a rate, beginCounting and endCounting
// determine the counted time.
func (c *schedule) start(warmup, duration time.Duration) {
	c.begin.Store(math.MaxInt64)
	c.end.Store(math.MaxInt64)
	if c.rate > 0 {
		c.begin.Store(int64(warmup))
		c.end.Store(int64(warmup + duration))
		c.dueFrom = c.firstDue(int64(warmup))
		c.dueTo = c.firstDue(int64(warmup + duration))
	}
	c.origin = time.Now()
}

// now returns the time since the start. It is called once for each request: time.Since reads only
// the monotonic clock, whereas time.Now reads two clocks.
func (c *schedule) now() int64 { return int64(time.Since(c.origin)) }

// due returns when request i is to be sent.
func (c *schedule) due(i int64) int64 { return int64(float64(i) * 1e9 / c.rate) }

// firstDue returns the first request that is due at t or later.
func (c *schedule) firstDue(t int64) int64 {
	i := int64(float64(t) * c.rate / 1e9)
	for i > 0 && c.due(i-1) >= t {
		i--
	}
	for c.due(i) < t {
		i++
	}
	return i
}

func (c *schedule) beginCounting() {
	if c.rate == 0 {
		c.begin.Store(c.now())
	}
}

// endCounting also ends sending. A schedule that was given up has already ended.
func (c *schedule) endCounting() {
	if c.rate == 0 {
		c.end.CompareAndSwap(math.MaxInt64, c.now())
	}
}

// giveUp ends the schedule now.
func (c *schedule) giveUp() {
	if now := c.now(); now < c.end.Load() {
		c.end.Store(now)
	}
	c.abandoned.Store(true)
}

// counts reports whether a time is within the counted time.
func (c *schedule) counts(at int64) bool { return at >= c.begin.Load() && at < c.end.Load() }

// over reports whether sending has ended.
func (c *schedule) over(now int64) bool { return now >= c.end.Load() }
