// Package volume reports whether tests run at full volume: a million keys, fifty kills. It is
// separate from package harness so that unit tests need not link the harness.
package volume

import "os"

// Full reports whether MOCKSERVER_VOLUME_TESTS=1 is set, as .ci/run does.
func Full() bool { return os.Getenv("MOCKSERVER_VOLUME_TESTS") == "1" }
