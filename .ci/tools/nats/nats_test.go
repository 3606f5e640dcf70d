// Package nats is a command for tests, which build it with go test -c: NATS servers with JetStream.
//
//	nats 3          three servers that form a cluster
//	nats CONF...    a server for each configuration file
//
// It prints their addresses, separated by commas, in one line when they have a leader, and stops
// them when its standard input ends.
package nats

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func TestMain(*testing.M) {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	dir, err := os.MkdirTemp("", "nats")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := options(args, dir)
	if err != nil {
		return err
	}
	var servers []*server.Server
	for _, o := range all {
		o.NoLog, o.NoSigs = true, true
		s, err := server.NewServer(o)
		if err != nil {
			return err
		}
		go s.Start()
		defer s.WaitForShutdown()
		defer s.Shutdown()
		servers = append(servers, s)
	}
	for end := time.Now().Add(time.Minute); !haveLeader(servers); {
		if time.Now().After(end) {
			return fmt.Errorf("NATS does not start")
		}
		<-time.Tick(5 * time.Millisecond)
	}
	var list []string
	for _, s := range servers {
		list = append(list, s.Addr().String())
	}
	fmt.Println(strings.Join(list, ","))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func options(args []string, dir string) (all []*server.Options, err error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		for _, file := range args {
			o, err := server.ProcessConfigFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, o)
		}
		return all, nil
	}
	var routes []*url.URL
	for i := range n {
		l := unused()
		defer l.Close() // after all of them are taken
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
		all = append(all, &server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)),
		})
		if n > 1 {
			// Clients use only the servers that they are configured with, since one of them may be
			// behind a proxy.
			all[i].Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, NoAdvertise: true}
		}
	}
	for _, o := range all {
		if n > 1 {
			o.Routes = routes
		}
	}
	return all, nil
}

// unused listens on a port that the system does not assign to programs that request any free port.
func unused() net.Listener {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000)))
		if err == nil {
			return l
		}
	}
}

func haveLeader(servers []*server.Server) bool {
	leaders := 0
	for _, s := range servers {
		if s.ReadyForConnections(time.Second) &&
			(len(servers) == 1 && s.JetStreamEnabled() || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers)) {
			leaders++
		}
	}
	return leaders == 1
}
