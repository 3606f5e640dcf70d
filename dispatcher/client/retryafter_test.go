package client

import (
	"math"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2024, 1, 15, 10, 30, 5, 500, time.UTC)
	const longest = math.MaxInt64 / time.Second * time.Second
	for _, c := range []struct {
		status int
		value  string
		want   time.Duration
	}{
		{429, "7", 7 * time.Second},
		{503, " 7 ", 7 * time.Second},
		{429, "0", 0},
		{429, "", 0},
		{429, "-7", 0},
		{429, "+7", 0},
		{429, "1.5", 0},
		{429, "7s", 0},
		{429, "soon", 0},
		{429, "9223372036", longest},
		{429, "9223372037", longest},
		{429, "99999999999999999999999999999999", longest},
		{503, "Mon, 15 Jan 2024 10:31:06 GMT", time.Minute + time.Second - 500},
		{503, "Monday, 15-Jan-24 10:31:05 GMT", time.Minute - 500},
		{503, "Mon Jan 15 10:31:05 2024", time.Minute - 500},
		{503, "Mon, 15 Jan 2024 10:30:05 GMT", 0},
		{503, "Mon, 15 Jan 1024 10:30:05 GMT", 0},
		{503, "Fri, 31 Dec 9999 23:59:59 GMT", math.MaxInt64},
		{503, "2024-01-15T10:31:05Z", 0},
		{500, "7", 0},
		{200, "7", 0},
		{302, "7", 0},
	} {
		if got := retryAfter(c.status, []byte(c.value), now); got != c.want {
			t.Errorf("%d with Retry-After %q: got %v, want %v", c.status, c.value, got, c.want)
		}
	}
}
