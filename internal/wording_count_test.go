package internal_test

import (
	"testing"

	"mockserver/internal/wording"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 endpoints", 1: "1 endpoint", 2: "2 endpoints", -1: "-1 endpoints"} {
		if got := wording.Count(n, "endpoint"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 18840: "18,840", 1234567: "1,234,567"} {
		if got := wording.Thousands(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
