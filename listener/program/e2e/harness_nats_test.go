package e2e_test

import (
	"testing"

	"mockserver/internal/harness"
)

// startNATS starts servers for a test, as harness.NATS does.
func startNATS(t *testing.T, args ...string) (addresses string) {
	t.Helper()
	addresses, stop := harness.NATS(t, args...)
	t.Cleanup(stop)
	return addresses
}
