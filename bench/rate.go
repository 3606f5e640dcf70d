package bench

import (
	"math"
	"sync/atomic"
	"time"
)

// course is the time of one load: from when to when it is counted, and what is due
// when. Its times are nanoseconds since it started. start is called before any
// generator reads it, the rest may be called from any goroutine.
type course struct {
	rate    float64 // requests a second; 0 has nothing due
	origin  time.Time
	begin   atomic.Int64 // of counting
	end     atomic.Int64 // of counting and of sending
	given   atomic.Bool  // up: nothing is awaited any more
	dueFrom int64        // the first request that counts, and the first that is not sent any more
	dueTo   int64
}

func newCourse(rate float64) *course { return &course{rate: rate, origin: time.Now()} }

// start begins the course. With a rate what counts is known from here on: requests
// due within the counted time, however late the clock is read. Without one the ends
// are where beginCounting and endCounting set them.
func (c *course) start(warmup, duration time.Duration) {
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

// now is read once a request. time.Since reads the monotonic clock alone, which
// time.Now does not.
func (c *course) now() int64 { return int64(time.Since(c.origin)) }

// due is when request i is to be sent.
func (c *course) due(i int64) int64 { return int64(float64(i) * 1e9 / c.rate) }

// firstDue is the first request that is due at t or later.
func (c *course) firstDue(t int64) int64 {
	i := int64(float64(t) * c.rate / 1e9)
	for i > 0 && c.due(i-1) >= t {
		i--
	}
	for c.due(i) < t {
		i++
	}
	return i
}

func (c *course) beginCounting() {
	if c.rate == 0 {
		c.begin.Store(c.now())
	}
}

// endCounting ends sending too. A course that was given up has ended before.
func (c *course) endCounting() {
	if c.rate == 0 {
		c.end.CompareAndSwap(math.MaxInt64, c.now())
	}
}

// giveUp ends the course now.
func (c *course) giveUp() {
	if now := c.now(); now < c.end.Load() {
		c.end.Store(now)
	}
	c.given.Store(true)
}

func (c *course) countedFrom() int64 { return c.begin.Load() }

// counted is for how long was counted; to be asked once counting has ended.
func (c *course) counted() time.Duration {
	return time.Duration(max(c.end.Load()-c.begin.Load(), 0))
}

// counts says whether what happened at a time counts by it.
func (c *course) counts(at int64) bool { return at >= c.begin.Load() && at < c.end.Load() }

// over says whether nothing is sent any more.
func (c *course) over(now int64) bool { return now >= c.end.Load() }
