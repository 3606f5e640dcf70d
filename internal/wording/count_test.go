package wording

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 endpoints", 1: "1 endpoint", 2: "2 endpoints", -1: "-1 endpoints"} {
		if got := Count(n, "endpoint"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
