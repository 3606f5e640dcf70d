//go:build !race

package serve

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// BenchmarkScale measures the CPU time of a request over connections in memory: with one
// connection, with two that are served at the same time, and the ratio between the two. A ratio
// above 1.1 means that they write to common memory. Other load on the machine has little influence,
// and the least with -cpu 2. See TestScale_NothingIsWrittenByTwo.
func BenchmarkScale(b *testing.B) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Skip("two connections need two CPUs")
	}
	spread := timed + many(2000)
	for _, c := range []struct {
		name string
		s    *testServer
	}{
		{"off", configured(b, timed)}, {"recorded", recordingAs(b, timed, record.JournalOptions{Slowest: -1})},
		{"recorded-2000-endpoints", recordingAs(b, spread, record.JournalOptions{Slowest: -1})},
	} {
		for _, asked := range scaled {
			b.Run(asked.name+"/"+c.name, func(b *testing.B) {
				var ones, ratios []float64
				for b.Loop() {
					one, two := c.s.costOf(b, 1, asked.request, asked.body), c.s.costOf(b, 2, asked.request, asked.body)
					ones, ratios = append(ones, one), append(ratios, two/one)
				}
				slices.Sort(ones)
				slices.Sort(ratios)
				b.ReportMetric(ones[len(ones)/2], "CPU-ns/request")
				b.ReportMetric(ratios[len(ratios)/2], "two/one")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// requestsAtOnce is how many requests are sent over a connection in each measurement.
const requestsAtOnce = 40_000

// costOf returns the CPU time of a request, in nanoseconds.
func (s *testServer) costOf(b *testing.B, connections int, request, body string) float64 {
	conns := handling(s, wire.New(nil, s.Log))
	begun := cpuTime(b)
	var all sync.WaitGroup
	for range connections {
		client := &repeating{request: request, left: requestsAtOnce, body: body}
		conn := conns.Adopt(client)
		all.Go(func() {
			_ = serveOne(s, conn) // the answers are counted
			if client.served != requestsAtOnce {
				b.Errorf("%d answers to %d requests: %s", client.served, requestsAtOnce, strings.TrimSpace(request))
			}
		})
	}
	all.Wait()
	return float64(cpuTime(b)-begun) / float64(connections*requestsAtOnce)
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at); err != nil {
		b.Fatal(err)
	}
	return time.Duration(at.Nano())
}
