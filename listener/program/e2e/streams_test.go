//go:build linux && measure

package e2e_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// declared is a latency, by percentiles.
var declared = []struct {
	rank   float64
	length time.Duration
}{{50, time.Second}, {90, 1500 * time.Millisecond}, {99, 2 * time.Second}, {99.9, 2200 * time.Millisecond}, {100, 2300 * time.Millisecond}}

// delayed returns an endpoint with the declared latency.
func delayed() string {
	var points []string
	for _, p := range declared {
		points = append(points, fmt.Sprintf("p%g: %v", p.rank, p.length))
	}
	return "- endpoint: {path: /late, latency: {" + strings.Join(points, ", ") + "}, response: {body: late}}\n"
}

const (
	connections = 100
	each        = 100 // concurrent streams per connection
	warmUp      = 5 * time.Second
	measured    = 30 * time.Second
)

// 10,000 streams at a time, over 100 connections, are answered with the declared latency, within 1%
// or 1 ms, as measured by the client. The measured latencies are printed.
func TestStreams_Delayed(t *testing.T) {
	NeedsProcess(t)
	p := Serving(t, delayed())
	address := strings.TrimPrefix(p.URL, "http://")
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	from := time.Now().Add(warmUp)
	until := from.Add(measured)
	for range connections {
		all.Go(func() {
			own, err := loadStreams(address, from, until)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
		})
	}
	all.Wait()
	if len(took) < connections*each {
		t.Fatalf("there are %d responses", len(took))
	}
	slices.Sort(took)
	fmt.Printf("%d responses, %d streams at a time over %d connections\n%6s %12s %12s %12s\n", len(took), connections*each, connections, "", "declared", "client", "difference")
	for _, d := range declared {
		got := took[min(int(d.rank/100*float64(len(took))), len(took)-1)]
		fmt.Printf("%6s %12v %12v %12v\n", fmt.Sprintf("p%g", d.rank), d.length, got.Round(10*time.Microsecond), (got - d.length).Round(10*time.Microsecond))
		if most := max(time.Millisecond, d.length/100); d.rank < 100 && (got-d.length).Abs() > most {
			t.Errorf("p%g is off by %v, more than %v", d.rank, got-d.length, most)
		}
	}
}

// loadStreams keeps streams of a connection open until the given time, and returns how long those streams
// took that began between from and until.
func loadStreams(address string, from, until time.Time) (took []time.Duration, err error) {
	c, err := dial(address, "/late", 1<<20)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for range each {
		c.open()
	}
	for open := each; open > 0; {
		began, length, err := c.ended()
		if err != nil {
			return took, err
		}
		if !began.Before(from) && began.Before(until) {
			took = append(took, length)
		}
		if time.Now().Before(until) {
			c.open()
		} else {
			open--
		}
	}
	return took, nil
}

// The memory of the process that an idle connection takes, when it no longer decreases and after a
// collection of garbage, of which there is one within two minutes, is not more than documented.
func TestStreams_MemoryOfConnections(t *testing.T) {
	secure := func(protocol string) func(address string) (net.Conn, error) {
		config := &tls.Config{InsecureSkipVerify: true, ServerName: "a", NextProtos: []string{protocol}}
		return func(address string) (net.Conn, error) { return tls.Dial("tcp", address, config) }
	}
	plain := func(address string) (net.Conn, error) { return net.Dial("tcp", address) }
	for _, c := range []struct {
		name       string
		most, then float64 // KiB, before and after the collection
		ask        func(net.Conn) error
		dial       func(address string) (net.Conn, error)
	}{
		{"HTTP/1.1 in clear text", 2.0, 2.0, askHTTP1, plain},
		{"HTTP/1.1 over TLS", 20, 12, askHTTP1, secure("http/1.1")},
		{"HTTP/2 in clear text", 14, 8, askHTTP2, plain},
		{"HTTP/2 over TLS", 22, 12, askHTTP2, secure("h2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			memoryOfConnections(t, c.name, c.most, c.then, func(address string) (net.Conn, error) {
				conn, err := c.dial(address)
				if err != nil {
					return nil, err
				}
				return conn, c.ask(conn)
			})
		})
	}
}

// askHTTP1 sends a request, and reads the response.
func askHTTP1(conn net.Conn) error {
	if _, err := fmt.Fprint(conn, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 4096))
	return err
}

// askHTTP2 sends a request, and reads the response.
func askHTTP2(conn net.Conn) error {
	c, err := speak(conn, "a", "/hello", 1<<20)
	if err == nil {
		c.open()
		_, _, err = c.ended()
	}
	return err
}

func memoryOfConnections(t *testing.T, how string, most, then float64, open func(address string) (net.Conn, error)) {
	NeedsProcess(t)
	const idle = 4000
	p := Serving(t, "- endpoint: {path: /hello, response: {body: hello}}\n", "--tls", "auto")
	before := settled(p)
	for range idle {
		conn, err := open(strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	each := float64(settled(p)-before) / idle
	collected := float64(settledFor(p, 130*time.Second)-before) / idle
	fmt.Printf("%d idle connections, %s: %.1f KiB each, %.1f KiB after a collection\n", idle, how, each, collected)
	if each > most || collected > then {
		t.Errorf("an idle connection, %s, takes %.1f KiB, then %.1f; want at most %.1f, then %.1f", how, each, collected, most, then)
	}
}

// A stream that waits takes at most 3 KiB of the memory of the process.
func TestStreams_MemoryOfStreams(t *testing.T) {
	NeedsProcess(t)
	p := Serving(t, "- endpoint: {path: /late, latency: {min: 1h, max: 1h}, response: {body: late}}\n")
	address := strings.TrimPrefix(p.URL, "http://")
	before := settled(p)
	for range connections {
		c, err := dial(address, "/late", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range each {
			c.open()
		}
		if err := c.out.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	after := settled(p)
	size := float64(after-before) / (connections * each)
	fmt.Printf("%d streams that wait, with %d connections: %.1f KiB each\n", connections*each, connections, size)
	if size > 3 {
		t.Errorf("a stream that waits takes %.1f KiB, want at most 3", size)
	}
}

// settled returns the memory of the process, in KiB, once it no longer decreases: buffers are given
// back some time after they were last used.
func settled(p *Process) int { return settledFor(p, 30*time.Second) }

// settledFor returns the memory of the process, in KiB, once it has not decreased for some time.
func settledFor(p *Process, still time.Duration) (least int) {
	least = p.Usage().RSS
	for since := time.Now(); time.Since(since) < still; {
		if now := p.Usage().RSS; now < least-64 {
			least, since = now, time.Now()
		}
		ticks := time.NewTimer(time.Second)
		<-ticks.C
	}
	return p.Usage().RSS
}
