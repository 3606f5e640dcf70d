package dispatcher

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Retry says how often a delivery is tried, and how long is waited between.
type Retry struct {
	Attempts   int           // the first one counts; below 2 there is no second
	Backoff    time.Duration // before the second attempt; doubled before each further one
	MaxBackoff time.Duration // the most that is waited
}

// after returns how long to wait before the next attempt when attempts were made.
// jitter, in [0, 1), spreads the waits of deliveries that failed together over the
// second half of the back-off.
func (r Retry) after(attempts int, jitter float64) time.Duration {
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

// wait is what after returns, or what the target asked for with Retry-After, if that
// is not 0, up to MaxBackoff.
func (r Retry) wait(attempts int, asked time.Duration, jitter float64) time.Duration {
	if asked > 0 {
		return min(asked, r.MaxBackoff)
	}
	return r.after(attempts, jitter)
}

// retryAfter reads the Retry-After of an answer with status 429 or 503: seconds, or a
// date of HTTP. It is 0 for other answers, and when the header asks for no wait or
// cannot be read.
func retryAfter(status int, value []byte, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := string(bytes.TrimSpace(value))
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

// worthRetrying tells whether another attempt may fare better: the target could
// not be reached, took too long, or says so itself.
func worthRetrying(status int, err error) bool {
	return err != nil || status == 429 || status >= 500
}
