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
