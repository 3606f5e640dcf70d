package config_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// The tests parse very many small texts: collecting garbage takes a third of their time otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
