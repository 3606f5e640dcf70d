//go:build linux && measure

package calibration

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"
)

// TestCapacity compares the mean response time of a capacity with queueing theory, for requests
// that arrive at random. If all requests take the same time, the expected time is computed from the
// requests that were sent; otherwise it follows from Erlang's formula.
func TestCapacity(t *testing.T) {
	const within = 0.03
	fixed := func(ms int) string { return fmt.Sprintf("{min: %[1]dms, max: %[1]dms}", ms) }
	fmt.Printf("%-8s %5s %12s %12s %8s\n", "queue", "load", "theory", "client", "ratio")
	for _, q := range []struct {
		name    string
		places  int
		mean    time.Duration
		latency string
		random  bool
	}{
		{"M/D/1", 1, 10 * time.Millisecond, fixed(10), false},
		{"M/D/8", 8, 10 * time.Millisecond, fixed(10), false},
		{"M/M/8", 8, 10 * time.Millisecond, exponential(10), true},
	} {
		const load = 0.7
		t.Run(q.name, func(t *testing.T) {
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			mock := fmt.Sprintf("- endpoint: {path: /a, response: {body: hello}, latency: %s, capacity: {concurrent: %d, queue: 10000}}\n", q.latency, q.places)
			s := begin(t, mock, nil, nil, null)
			client, err := newClient(s.addr)
			if err != nil {
				t.Fatal(err)
			}
			length := 40 * time.Second
			if q.random { // the mean of 20,000 random times is off by 0.7 % itself
				length *= 3
			}
			client.drive(&plan{rate: load * float64(q.places) / q.mean.Seconds(), requests: []request{{bytes: get("/a")}}, random: true}, length, 5*time.Second)
			s.end()
			theory := time.Duration(float64(q.mean) * (1 + erlangC(q.places, load)/(float64(q.places)*(1-load))))
			if !q.random {
				theory = queued(client.timings, q.places, q.mean)
			}
			var sum time.Duration
			for _, one := range client.timings {
				sum += one.over
			}
			mean := sum / time.Duration(len(client.timings))
			ratio := float64(mean) / float64(theory)
			fmt.Printf("%-8s %5.1f %12s %12s %8.3f\n", q.name, load, theory.Round(time.Microsecond), mean.Round(time.Microsecond), ratio)
			if math.Abs(ratio-1) > within || client.failed > 0 {
				t.Errorf("the mean is %v, in theory %v; %d of %d failed", mean, theory, client.failed, len(client.timings))
			}
		})
	}
}

// exponential returns a latency with the percentiles of the exponential distribution.
func exponential(mean float64) string {
	text := "{"
	at := func(rank float64) { text += fmt.Sprintf("p%v: %.4fms, ", rank, -mean*math.Log(1-rank/100)) }
	for rank := 1.25; rank < 99; rank += 1.25 { // linear between the ranks
		at(rank)
	}
	for _, rank := range []float64{99, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.99} {
		at(rank)
	}
	return text + fmt.Sprintf("min: 0ms, max: %.4fms}", -mean*math.Log(1e-5))
}

// erlangC returns the probability that a request finds all places occupied.
func erlangC(places int, load float64) float64 {
	offered := load * float64(places)
	term, sum := 1.0, 1.0
	for i := 1; i < places; i++ {
		term *= offered / float64(i)
		sum += term
	}
	full := term * offered / float64(places) / (1 - load)
	return full / (sum + full)
}

// queued returns the mean response time of requests that queue for a number of places and hold one
// for the given time each.
func queued(timings []timing, places int, each time.Duration) time.Duration {
	slices.SortFunc(timings, func(a, b timing) int { return a.sent.Compare(b.sent) })
	free := make([]time.Time, places) // when each place becomes free, the earliest first
	var sum time.Duration
	for _, one := range timings {
		start := one.sent
		if free[0].After(start) {
			start = free[0]
		}
		end := start.Add(each)
		free[0] = end
		slices.SortFunc(free, func(a, b time.Time) int { return a.Compare(b) })
		sum += end.Sub(one.sent)
	}
	return sum / time.Duration(len(timings))
}
