package main

import (
	"os"
	"testing"

	"mockserver/internal/harness"
)

func TestMain(m *testing.M) {
	harness.MoreAtOnce(3)
	os.Exit(m.Run())
}
