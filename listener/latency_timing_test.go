package listener_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/listener"
)

const (
	// inFlight is how many requests wait at once.
	inFlight = 10_000
	// clientsOf is the environment variable that makes a process run the clients for a benchmark's
	// server.
	clientsOf = "MOCKSERVER_TEST_CLIENTS_OF"
)

// delayed is a curve with a mean of about a second: with 10,000 requests in flight, the server must
// wake 10,000 a second.
var delayed = config.Latency{Min: 200 * time.Millisecond, Curve: []config.Percentile{
	{Rank: 50, Length: time.Second}, {Rank: 90, Length: 1500 * time.Millisecond}, {Rank: 99, Length: 2 * time.Second},
	{Rank: 99.9, Length: 2500 * time.Millisecond}, {Rank: 100, Length: 3 * time.Second},
}}

// 10,000 connections in a separate process each send the next request once the previous one is
// answered. The results are: how far the percentiles that clients see deviate from the declared
// ones, random variation included; how late each answer was ready, compared with its latency; and
// how much of the server's memory a waiting request takes.
func BenchmarkLatency_10000InFlight(b *testing.B) {
	server, err := listener.Start(config.New(config.Endpoint{Path: "/slow", Latency: &delayed}), listener.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	clients := exec.Command(program, "-test.run", "^TestLatency_Clients$", "-test.v")
	clients.Env = append(os.Environ(), clientsOf+"="+server.Addr().String())
	before := memory()
	said, err := clients.StdoutPipe()
	if err == nil {
		err = clients.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && lines.Text() != "asked" {
	}
	waiting := memory() - before
	for lines.Scan() {
		var rank float64
		var off int64
		if n, _ := fmt.Sscanf(lines.Text(), "p%f %d", &rank, &off); n == 2 {
			b.ReportMetric(float64(off), fmt.Sprintf("µs_off_p%v", rank))
		}
	}
	if err := clients.Wait(); err != nil {
		b.Fatal(err)
	}
	late := server.LatencyErrors()[0]
	for _, part := range []float64{0.5, 0.9, 0.99, 0.999} {
		b.ReportMetric(float64(late.Quantile(part).Microseconds()), fmt.Sprintf("µs_late_p%v", 100*part))
	}
	b.ReportMetric(float64(waiting)/inFlight, "B/waiting")
	b.ReportMetric(float64(late.Count), "requests")
}

// memory returns the resident memory of the process as reported by the system or, failing that, the
// memory of the heap and the stacks.
func memory() int64 {
	runtime.GC()
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
		kib, err := strconv.ParseInt(strings.Fields(string(rest))[0], 10, 64)
		if err == nil {
			return kib << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// TestLatency_Clients runs the clients, in their own process.
func TestLatency_Clients(t *testing.T) {
	address := os.Getenv(clientsOf)
	if address == "" {
		t.Skip("part of BenchmarkLatency_10000InFlight")
	}
	const each = 5
	took := make([][each]time.Duration, inFlight)
	conns := make([]net.Conn, inFlight)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", address); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
	}
	var clients, asked sync.WaitGroup
	asked.Add(inFlight)
	for i, conn := range conns {
		clients.Go(func() {
			in := bufio.NewReaderSize(conn, 512)
			for j := range each {
				begun := time.Now()
				_, err := io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
				if j == 0 {
					asked.Done()
				}
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Error(err)
					return
				}
				took[i][j] = time.Since(begun)
				_ = resp.Body.Close() // it is empty
			}
		})
	}
	asked.Wait()
	fmt.Println("asked")
	clients.Wait()
	var all []time.Duration
	for i := range took {
		all = append(all, took[i][1:]...) // the first requests were sent while other clients were still connecting
	}
	slices.Sort(all)
	for _, p := range delayed.Curve[:4] {
		fmt.Printf("p%v %d\n", p.Rank, (all[int(p.Rank/100*float64(len(all)))] - p.Length).Microseconds())
	}
}
