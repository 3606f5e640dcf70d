package dispatcher

import "time"

// Retry specifies how many times a delivery is attempted and how long to wait between attempts.
type Retry struct {
	Attempts   int           // including the first
	Backoff    time.Duration // wait before the second attempt; doubled before each further one
	MaxBackoff time.Duration // the longest wait
}

// wait returns how long to wait after the given number of attempts: as long as the target requested
// with Retry-After, up to MaxBackoff, or the back-off. jitter, in [0, 1), spreads the back-off of
// deliveries that failed together over its second half.
func (r Retry) wait(attempts int, requested time.Duration, jitter float64) time.Duration {
	if requested > 0 {
		return min(requested, r.MaxBackoff)
	}
	wait := r.Backoff
	for range attempts - 1 {
		if wait >= r.MaxBackoff/2 {
			wait = r.MaxBackoff
			break
		}
		wait *= 2
	}
	wait = min(wait, r.MaxBackoff)
	return wait/2 + time.Duration(jitter*float64(wait-wait/2))
}
