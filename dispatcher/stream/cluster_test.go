package stream

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// cluster is shared by all tests: three NATS servers. Each test has its own stream.
var cluster struct {
	sync.Mutex
	addresses string
	stop      func()
}

func TestMain(m *testing.M) {
	harness.MoreAtOnce(3)
	code := m.Run()
	if cluster.stop != nil {
		cluster.stop()
	}
	os.Exit(code)
}

// servers returns the addresses of the servers: "127.0.0.1:4222,127.0.0.1:4223,127.0.0.1:4224".
func servers(t testing.TB) string {
	t.Helper()
	cluster.Lock()
	defer cluster.Unlock()
	if cluster.stop == nil {
		cluster.addresses, cluster.stop = harness.NATS(t, "3")
	}
	return cluster.addresses
}

// until waits for a condition in a test or benchmark.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(harness.Patience); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for: %s", what)
		}
		<-time.Tick(5 * time.Millisecond)
	}
}

// brief is the parameter of a short lease, for tests in which a lease expires. On a busy machine a
// shorter one would expire by accident.
const brief = "&lease=5s"

// locations counts locations, so that a test that runs again has a different stream.
var locations atomic.Int64

// location returns the location of a new stream for a test.
func location(t testing.TB, more string) string {
	t.Helper()
	name := strings.NewReplacer("/", "_", "#", "_").Replace(t.Name())
	return fmt.Sprintf("nats://%s?stream=%s_%d%s", servers(t), name, locations.Add(1), more)
}

func opened(t testing.TB, at string) *Stream {
	t.Helper()
	where, err := Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(where, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// crash stops a store as if its process had been killed: nothing is flushed or released.
func (s *Stream) crash() {
	s.nc.Close()
	s.stop()
	s.loops.Wait()
}
