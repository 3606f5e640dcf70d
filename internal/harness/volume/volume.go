// Package volume reports whether tests run at full volume: a million keys, fifty kills. It is
// separate from package harness so that unit tests need not link the harness.
package volume

import (
	"os"
	"testing"
)

// Full reports whether MOCKSERVER_VOLUME_TESTS=1 is set, as .ci/run does.
func Full() bool { return os.Getenv("MOCKSERVER_VOLUME_TESTS") == "1" }

// Only skips a test that takes many seconds, unless tests run at full volume.
func Only(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("takes many seconds; MOCKSERVER_VOLUME_TESTS=1 runs it")
	}
}
