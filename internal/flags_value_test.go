package internal_test

import (
	"testing"

	"mockserver/internal/flags"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "1048576": 1 << 20, "64KiB": 64 << 10, "16mb": 16e6, "1 GiB": 1 << 30, "7b": 7, "2KB": 2000,
		"": 0, "0": 0, "-1": 0, "1.5MB": 0, "16M": 0, "99999999999GiB": 0, "MiB": 0,
	} {
		var got int
		if ok := flags.Size(&got, text); ok != (want > 0) || ok && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}
