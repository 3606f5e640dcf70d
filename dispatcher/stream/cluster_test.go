package stream

import (
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"mockserver/internal/harness"
)

// cluster is shared by all tests: three NATS servers. Each test has its own stream.
var cluster struct {
	once    sync.Once
	dir     string
	servers []*server.Server
	err     error
}

func TestMain(m *testing.M) {
	harness.MoreAtOnce(3)
	code := m.Run()
	for _, s := range cluster.servers {
		s.Shutdown()
		s.WaitForShutdown()
	}
	if cluster.dir != "" {
		_ = os.RemoveAll(cluster.dir)
	}
	os.Exit(code)
}

func startCluster(t testing.TB) error {
	var err error
	if cluster.dir, err = os.MkdirTemp("", "nats"); err != nil {
		return err
	}
	routed := harness.UnusedAddresses(t, 3)
	var routes []*url.URL
	for _, address := range routed {
		routes = append(routes, &url.URL{Scheme: "nats", Host: address})
	}
	for i, address := range routed {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(cluster.dir, fmt.Sprint(i)), Routes: routes,
			// Clients use only the servers that they are configured with, since one of them may be
			// behind a proxy.
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: int(netip.MustParseAddrPort(address).Port()), NoAdvertise: true},
		})
		if err != nil {
			return err
		}
		go s.Start()
		cluster.servers = append(cluster.servers, s)
	}
	return nil
}

// servers returns the addresses of the servers: "127.0.0.1:4222,127.0.0.1:4223,127.0.0.1:4224".
func servers(t testing.TB) string {
	t.Helper()
	cluster.once.Do(func() { cluster.err = startCluster(t) })
	if cluster.err != nil {
		t.Fatal(cluster.err)
	}
	var list []string
	until(t, "the servers have a leader", func() bool {
		leaders := 0
		for _, s := range cluster.servers {
			if s.ReadyForConnections(time.Second) && s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				leaders++
			}
		}
		return leaders == 1
	})
	for _, s := range cluster.servers {
		list = append(list, s.Addr().String())
	}
	return strings.Join(list, ",")
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
