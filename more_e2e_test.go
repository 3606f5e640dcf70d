package main

import (
	"os"
	"testing"

	"mockserver/internal/harness"
)

func TestMain(m *testing.M) {
	harness.MoreAtOnce()
	os.Exit(m.Run())
}
