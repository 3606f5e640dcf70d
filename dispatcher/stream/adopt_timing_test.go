package stream

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/dispatcher/outbox"
)

// BenchmarkAdoption leaves MOCKSERVER_ADOPTED entries, such as a million, in the log of a process
// that has crashed, and measures the time from the crash until another process has adopted all of
// them.
func BenchmarkAdoption(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("MOCKSERVER_ADOPTED"))
	if err != nil {
		b.Skip("MOCKSERVER_ADOPTED is not set")
	}
	at := "nats://" + servers(b) + "?stream=ADOPTION"
	for b.Loop() {
		first, second := opened(b, at), opened(b, at)
		var got atomic.Int64
		second.Recover(func(all []outbox.Entry) { got.Add(int64(len(all))) })
		began := time.Now()
		const callers = 1024
		done := make(chan error, callers)
		for i := range callers {
			go func() {
				for j := i; j < n; j += callers {
					e := outbox.Entry{Due: time.Now().Add(time.Hour), Webhook: []byte("webhook"), Parts: fmt.Appendf(nil, "%0200d", j)}
					if err := first.Store(&e); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range callers {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)/time.Since(began).Seconds(), "stored/s")
		first.crash()
		crashed, found := time.Now(), time.Time{}
		until(b, "all are adopted", func() bool {
			if found.IsZero() && got.Load() > 0 {
				found = time.Now()
			}
			return got.Load() == int64(n)
		})
		b.ReportMetric(time.Since(crashed).Seconds(), "s-after-crash")
		b.ReportMetric(float64(n)/time.Since(found).Seconds(), "adopted/s")
	}
}
