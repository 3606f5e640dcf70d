package fetcher

import (
	"testing"

	"go.uber.org/goleak"
)

// A loader that is closed leaves no goroutine: not of fetches, of connections kept
// for the next, or of files read again.
func TestMain(m *testing.M) {
	// These are of fasthttp's brotli encoder, which only the tests use.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/valyala/fasthttp/stackless.funcWorker"))
}
