// Package nats is a command for tests, which build it with go test -c: NATS servers with JetStream.
//
//	nats            a server
//	nats CONF...    a server for each configuration file
//
// It prints their addresses, separated by commas, in one line when they have a leader, and stops
// them when its standard input ends.
package nats

import (
	"fmt"
	"io"
	"os"
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
	if len(args) == 0 {
		return []*server.Options{{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir}}, nil
	}
	for _, file := range args {
		o, err := server.ProcessConfigFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
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
