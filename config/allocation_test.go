//go:build !race

package config

import (
	"testing"

	"mockserver/internal/json"
)

func TestNumbersAreCheckedWithoutAllocating(t *testing.T) {
	text, bytes := "-12.50e+3", []byte("-12.50e+3")
	allocs := testing.AllocsPerRun(100, func() {
		if !json.IsNumber(text) || !json.IsNumber(bytes) {
			t.Error("a number is not accepted")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}
