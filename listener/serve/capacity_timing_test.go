package serve

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/listener/compile"
)

// BenchmarkCapacity measures the figures of the table in docs/latency-and-limits.md: requests are
// sent at random times, over sockets, without waiting for earlier ones, at a share of what the
// places can serve. Compare its ms/mean with its ms/theory.
//
//	go test -run '^$' -bench Capacity -benchtime 6000x ./listener/serve
func BenchmarkCapacity(b *testing.B) {
	const places, mean = 8, 20 * time.Millisecond
	for _, load := range []float64{0.3, 0.5, 0.7, 0.8, 0.9} {
		b.Run(fmt.Sprintf("load=%.0f%%", 100*load), func(b *testing.B) {
			server := newServer(b, compile.Options{}).serving(b, config.New(config.Endpoint{
				Path: "/x", Response: config.Response{Body: "ok"}, Latency: exponential(mean),
				Capacity: &config.Capacity{Concurrent: places, Queue: 10_000},
			}))
			server.listen(b)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
			defer client.CloseIdleConnections()
			random := rand.New(rand.NewPCG(1, 1))
			times := make([]float64, b.N)
			var requests sync.WaitGroup
			due := time.Now()
			for i := range b.N {
				due = due.Add(time.Duration(random.ExpFloat64() * float64(mean) / (load * places)))
				came := due
				requests.Go(func() {
					arrival := time.NewTimer(time.Until(came))
					<-arrival.C
					req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+server.address+"/x", nil)
					resp, err := client.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					times[i] = float64(time.Since(came)) / 1e6
				})
			}
			requests.Wait()
			sum := 0.0
			for _, t := range times {
				sum += t
			}
			slices.Sort(times)
			b.ReportMetric(sum/float64(b.N), "ms/mean")
			b.ReportMetric(mean.Seconds()*1000*(1+erlangC(places, load)), "ms/theory")
			b.ReportMetric(times[b.N/2], "ms/p50")
			b.ReportMetric(times[b.N*99/100], "ms/p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}
