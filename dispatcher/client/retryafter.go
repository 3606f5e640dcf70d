package client

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// retryAfter reads the Retry-After header of an answer with status 429 or 503: seconds,
// or an HTTP date. It is 0 for other answers, and when the header asks for no wait or
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
