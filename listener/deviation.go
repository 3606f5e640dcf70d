package listener

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// deviations is the distribution of how much later than declared answers were ready,
// as counts of logarithmic buckets. Whoever answers adds to it, without a lock.
type deviations struct {
	counts [deviationBuckets]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
	most   atomic.Int64 // nanoseconds
}

const (
	// deviationBits is the logarithm of how many buckets there are from a number of
	// microseconds to its double: a bucket is 1/64 wide, so its middle within 1% of all
	// that is in it.
	deviationBits    = 6
	deviationDoubles = 20 // from 64 µs to 67 s; longer ones count in the last bucket
	deviationBuckets = (deviationDoubles + 1) << deviationBits
)

// deviationBucket is the number of the bucket of a length.
func deviationBucket(length time.Duration) int {
	us := uint64(max(length, 0) / time.Microsecond)
	if us < 1<<deviationBits {
		return int(us)
	}
	shift := bits.Len64(us) - deviationBits - 1
	return min(shift<<deviationBits+int(us>>shift), deviationBuckets-1)
}

// deviationIn is the middle of a bucket; of those up to 64 µs, which are 1 µs wide, the
// lower end.
func deviationIn(bucket int) time.Duration {
	shift := max(bucket>>deviationBits-1, 0)
	low := bucket - shift<<deviationBits
	return time.Duration(low<<shift)*time.Microsecond + time.Duration(1<<shift-1)*time.Microsecond/2
}

func (d *deviations) add(length time.Duration) {
	d.counts[deviationBucket(length)].Add(1)
	d.sum.Add(int64(length))
	for most := d.most.Load(); int64(length) > most; most = d.most.Load() {
		if d.most.CompareAndSwap(most, int64(length)) {
			return
		}
	}
}

// LatencyError is how well the latency of an endpoint was met: how much later than
// declared its answers were ready to be written, of all since it is declared as it is.
// No answer is earlier. It is a copy, and about 11 KB.
type LatencyError struct {
	Endpoint string // "GET /users/:id"
	Host     string // that the endpoint is declared for; "" for any
	Count    uint64 // of answers
	Mean     time.Duration
	Max      time.Duration

	counts [deviationBuckets]uint64
}

// Quantile is the error that a part of the answers, from 0 to 1, did not exceed, within
// 1% or 1 µs; 0 when there was none. Errors above 67 s are told by Max alone.
func (e *LatencyError) Quantile(part float64) time.Duration {
	rank := uint64(math.Ceil(part * float64(e.Count)))
	rank = min(max(rank, 1), e.Count)
	var sum uint64
	for bucket, n := range e.counts {
		if sum += n; n > 0 && sum >= rank {
			return min(deviationIn(bucket), e.Max)
		}
	}
	return 0
}

// read copies the distribution. What is added meanwhile may be in it or not.
func (d *deviations) read(e *LatencyError) {
	for i := range d.counts {
		e.counts[i] = d.counts[i].Load()
		e.Count += e.counts[i]
	}
	if e.Count > 0 {
		e.Mean = time.Duration(d.sum.Load() / int64(e.Count))
	}
	e.Max = time.Duration(d.most.Load())
}

// LatencyErrors tells of each endpoint with a latency that has answered, in the order
// of the specification, how well that was met. It keeps counting over a reload for
// endpoints that are declared as before.
func (s *Server) LatencyErrors() []LatencyError {
	sn := s.snapshot.Load()
	var all []LatencyError
	for i := range sn.answers {
		b := sn.answers[i].behaviour
		if b == nil || b.tally == nil { // nothing is counted of it
			continue
		}
		if d := b.tally.late.Load(); d != nil {
			all = append(all, LatencyError{Endpoint: sn.answers[i].name, Host: b.host})
			d.read(&all[len(all)-1])
		}
	}
	return all
}
