package fetcher

import (
	"testing"

	"go.uber.org/goleak"
)

// A closed loader leaves no goroutine behind: neither for fetches, nor for idle connections, nor
// for files that are being read again.
func TestMain(m *testing.M) {
	// These goroutines belong to fasthttp's brotli encoder, which only the tests use.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/valyala/fasthttp/stackless.funcWorker"))
}
