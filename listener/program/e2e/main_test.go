package e2e_test

import (
	"os"
	"testing"

	"mockserver/internal/harness"
	"mockserver/listener/program/programtest"
)

func TestMain(m *testing.M) {
	programtest.Use()
	harness.MoreAtOnce(6)
	os.Exit(m.Run())
}
