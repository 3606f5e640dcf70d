package examples_test

import (
	"os"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/inside"
)

func TestMain(m *testing.M) {
	inside.Use()
	harness.MoreAtOnce()
	os.Exit(m.Run())
}
