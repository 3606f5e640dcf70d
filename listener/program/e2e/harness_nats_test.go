package e2e_test

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"mockserver/internal/harness"
)

// startNATS starts n servers in this process, and returns their addresses, separated by commas.
func startNATS(t *testing.T, n int) string {
	t.Helper()
	routed := harness.UnusedAddresses(t, n)
	var routes []*url.URL
	for _, address := range routed {
		routes = append(routes, &url.URL{Scheme: "nats", Host: address})
	}
	var all []*server.Options
	for i, address := range routed {
		o := &server.Options{ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()}
		if n > 1 {
			// Clients use only the servers that they are configured with, since one of them may be
			// behind a proxy.
			o.Routes, o.Cluster = routes, server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: int(netip.MustParseAddrPort(address).Port()), NoAdvertise: true}
		}
		all = append(all, o)
	}
	return startNATSWith(t, all)
}

// startNATSWith starts servers with these options, and waits until they have JetStream and a leader.
func startNATSWith(t *testing.T, all []*server.Options) (addresses string) {
	t.Helper()
	servers := make([]*server.Server, len(all))
	for i, options := range all {
		var err error
		if servers[i], err = server.NewServer(options); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range servers {
		go s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	var list []string
	for _, s := range servers {
		if !s.ReadyForConnections(harness.Patience) {
			t.Fatal("NATS does not start")
		}
		list = append(list, s.Addr().String())
	}
	harness.Until(t, "the servers have JetStream and a leader", func() bool {
		leaders := 0
		for _, s := range servers {
			if len(all) == 1 && s.JetStreamEnabled() || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(all) {
				leaders++
			}
		}
		return leaders == 1
	})
	return strings.Join(list, ",")
}
