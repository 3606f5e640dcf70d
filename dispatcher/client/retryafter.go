package client

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// retryAfter parses the Retry-After header of a response with status 429 or 503: seconds, or an
// HTTP date. The result is 0 for other responses, and if the header requests no wait or is invalid.
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
