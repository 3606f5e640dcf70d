package config_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// The tests parse a great many small texts: with the default setting, garbage collection would take
// a third of their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
