package serve

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/fetcher"
	"mockserver/internal/harness/volume"
	"mockserver/listener/compile"
	"mockserver/listener/reply"
)

// visitor is a client in a bubble that sends one request.
type visitor struct {
	at, leaves time.Duration // when it sends the request, and when it gives up; 0 means never
	path       string

	status  int // 0 means no answer
	body    string
	replied time.Duration
}

// visits makes clients send requests to a server, each over a connection of its own, and waits for
// all of them.
func visits(t *testing.T, s *testServer, all []*visitor) {
	t.Helper()
	begun := time.Now()
	var clients sync.WaitGroup
	for _, v := range all {
		clients.Go(func() {
			<-time.After(v.at)
			c := talk(t, s)
			defer func() { <-c.served }()
			defer c.Close()
			if v.leaves > 0 {
				defer time.AfterFunc(v.leaves-v.at, func() { _ = c.Close() }).Stop()
			}
			go func() { // a failure shows in the answer
				_, _ = io.WriteString(c, "GET "+v.path+" HTTP/1.1\r\nHost: a\r\n\r\n")
			}()
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return
			}
			b, _ := io.ReadAll(resp.Body)
			v.status, v.body, v.replied = resp.StatusCode, string(b), time.Since(begun)
		})
	}
	clients.Wait()
}

const second = time.Second

// Requests are served up to the limit, further ones wait in order until the queue is full, and the
// next one is refused.
func TestCapacity_ServesInOrder(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name, capacity string
		visits         []visitor       // in the order of arrival
		want           []time.Duration // when each is answered; 0 means not at all, and a negative time a refusal
	}{
		{"one at a time", "{concurrent: 1, queue: 3}",
			[]visitor{{at: 0}, {at: 100 * ms}, {at: 200 * ms}, {at: 300 * ms}, {at: 400 * ms}, {at: 1100 * ms}},
			[]time.Duration{second, 2 * second, 3 * second, 4 * second, -400 * ms, 5 * second}},
		{"two at a time", "{concurrent: 2, queue: 2}",
			[]visitor{{at: 0}, {at: 100 * ms}, {at: 200 * ms}, {at: 300 * ms}, {at: 400 * ms}},
			[]time.Duration{second, 1100 * ms, 2 * second, 2100 * ms, -400 * ms}},
		{"no queue", "{concurrent: 1}",
			[]visitor{{at: 0}, {at: 100 * ms}, {at: 1500 * ms}},
			[]time.Duration{second, -100 * ms, 2500 * ms}},
		{"one leaves the queue", "{concurrent: 1, queue: 2}",
			[]visitor{{at: 0}, {at: 100 * ms, leaves: 500 * ms}, {at: 200 * ms}, {at: 300 * ms}, {at: 600 * ms}, {at: 700 * ms}},
			[]time.Duration{second, 0, 2 * second, -300 * ms, 3 * second, -700 * ms}},
		{"the last leaves the queue", "{concurrent: 1, queue: 2}",
			[]visitor{{at: 0}, {at: 100 * ms}, {at: 200 * ms, leaves: 500 * ms}, {at: 600 * ms}},
			[]time.Duration{second, 2 * second, 0, 3 * second}},
		{"all leave the queue", "{concurrent: 1, queue: 2}",
			[]visitor{{at: 0}, {at: 100 * ms, leaves: 500 * ms}, {at: 200 * ms, leaves: 600 * ms}, {at: 2000 * ms}},
			[]time.Duration{second, 0, 0, 3 * second}},
		{"the served client leaves", "{concurrent: 1, queue: 2}",
			[]visitor{{at: 0, leaves: 500 * ms}, {at: 100 * ms}, {at: 200 * ms}},
			[]time.Duration{0, 1500 * ms, 2500 * ms}},
	} {
		s := configured(t, `- endpoint: {path: /x, response: {body: ok}, latency: {min-ms: 1000, max-ms: 1000}, capacity: `+c.capacity+`}`)
		warm(t, s)
		synctest.Test(t, func(t *testing.T) {
			all := make([]*visitor, len(c.visits))
			for i := range c.visits {
				all[i] = &c.visits[i]
				all[i].path = "/x"
			}
			visits(t, s, all)
			for i, v := range all {
				status := 200
				if c.want[i] < 0 {
					status = 503
				} else if c.want[i] == 0 {
					status = 0
				}
				if v.status != status || v.replied != max(c.want[i], -c.want[i]) {
					t.Errorf("%s, client %d: got %d after %v, want %d after %v", c.name, i, v.status, v.replied, status, c.want[i])
				}
				if status == 503 && !strings.Contains(v.body, `"error":"Capacity exceeded","code":"capacity_exceeded"`) {
					t.Errorf("%s: got %s", c.name, v.body)
				}
			}
			if free, want := occupy(s, 0), s.Current().Spec.Endpoints[0].Capacity.Concurrent; free != want {
				t.Errorf("%s: at the end %d places are free, want %d", c.name, free, want)
			}
		})
	}
}

// occupy takes the free places of an endpoint, and returns how many there were.
func occupy(s *testServer, i int) (free int) {
	for {
		if _, _, err := s.snapshot.Load().Responses[i].Rules.Capacity.Enter(nil, time.Now(), time.Time{}); err != nil {
			return free
		}
		free++
	}
}

// A slow body holds its place until it is sent.
func TestCapacity_IsHeldByASlowBody(t *testing.T) {
	s := configured(t, `- endpoint: {path: /x, response: {body: 0123456789}, fault: {type: slow-body, bytes-per-second: 5}, capacity: {concurrent: 1, queue: 5}}`)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		all := []*visitor{{path: "/x"}, {path: "/x", at: second, leaves: 3 * second}, {path: "/x", at: 1500 * time.Millisecond}}
		visits(t, s, all)
		for i, want := range []time.Duration{2 * second, 0, 5 * second} { // the place of the second was freed when its client left
			if i != 1 && all[i].replied != want {
				t.Errorf("client %d: got %v, want %v", i, all[i].replied, want)
			}
		}
	})
}

// A request that panics while it holds a place frees the place.
func TestCapacity_OutlastsAPanic(t *testing.T) {
	s := configured(t, `- endpoint: {path: /, capacity: {concurrent: 1}, response: {body: ok}}`)
	s.snapshot.Load().Responses[0].Source = &fetcher.Source{} // it has no loader: using it panics
	for range 3 {
		if got := strings.Join(responsesOf(t, s, 1, "/"), ""); !strings.Contains(got, reply.InternalError.Code) {
			t.Errorf("got %s, want %s", got, reply.InternalError.Code)
		}
	}
	if free := occupy(s, 0); free != 1 {
		t.Errorf("%d places are free, want 1", free)
	}
}

// A reload that does not change an endpoint keeps its queue.
func TestCapacity_Reload(t *testing.T) {
	const was = `- endpoint: {path: /x, response: {body: ok}, latency: {min-ms: 1000, max-ms: 1000}, capacity: {concurrent: 1, queue: 1}}`
	s := configured(t, was)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		all := []*visitor{{path: "/x"}, {path: "/x", at: 100}, {path: "/x", at: 300}, {path: "/x", at: 500}}
		time.AfterFunc(200, func() {
			if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /y, response: {}}\n"+was))); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(400, func() { // another queue
			if err := s.Apply(config.Parse("m.yml", []byte(strings.Replace(was, "queue: 1", "queue: 2", 1)))); err != nil {
				t.Error(err)
			}
		})
		visits(t, s, all)
		for i, want := range []time.Duration{second, 2 * second, 300, second + 500} {
			if all[i].replied != want {
				t.Errorf("client %d: got %d after %v, want it after %v", i, all[i].status, all[i].replied, want)
			}
		}
	})
}

// Each byte of a slow body arrives when it is due, and the connection stays usable.
func TestSlowBody_Pace(t *testing.T) {
	for _, c := range []struct {
		pace, size int
	}{{1, 3}, {7, 100}, {1000, 5000}, {1024, 1}, {1_000_000, 300_000}, {1_000_000_000, 1000}} {
		s := configured(t, fmt.Sprintf("- endpoint: {path: /x, response: {body: %s}, fault: {type: slow-body, bytes-per-second: %d}}", strings.Repeat("x", c.size), c.pace))
		warm(t, s)
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer func() { <-conn.served }()
			defer conn.Close()
			in := bufio.NewReader(conn)
			for range 2 { // over one connection
				begun := time.Now()
				go func() { _, _ = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n") }()
				resp, err := http.ReadResponse(in, nil)
				if err != nil || time.Since(begun) > 0 || resp.ContentLength != int64(c.size) {
					t.Fatalf("%d at %d: got %v, %v after %v", c.size, c.pace, resp, err, time.Since(begun))
				}
				b := make([]byte, c.size)
				for n := 0; n < c.size; {
					got, err := resp.Body.Read(b[n:])
					if n += got; err != nil && err != io.EOF {
						t.Fatal(err)
					}
					// No byte is early, and none is later than one piece takes.
					due := float64(n) / float64(c.pace)
					if at := time.Since(begun).Seconds(); at < due-1e-6 || at > due+max(slowBeat.Seconds(), 1/float64(c.pace)) {
						t.Fatalf("%d at %d: byte %d came after %v s, want %v s", c.size, c.pace, n, at, due)
					}
				}
				if got, want := time.Since(begun).Seconds(), float64(c.size)/float64(c.pace); math.Abs(got-want) > 1e-6 {
					t.Errorf("%d at %d: it took %v s, want %v s", c.size, c.pace, got, want)
				}
			}
		})
	}
}

// erlangC returns the mean wait, in service times, in an M/M/c queue: requests arrive at random,
// at a share (load) of what the c places can serve, and service times are exponentially
// distributed.
func erlangC(c int, load float64) float64 {
	offered := load * float64(c)
	term, sum := 1.0, 1.0 // offered^k / k!
	for k := 1; k < c; k++ {
		term *= offered / float64(k)
		sum += term
	}
	term *= offered / float64(c)
	waits := term / (1 - load) / (sum + term/(1-load))
	return waits / (float64(c) * (1 - load))
}

// exponential declares an exponentially distributed latency.
func exponential(mean time.Duration) *config.Latency {
	l := &config.Latency{}
	at := func(rank float64) config.Percentile {
		return config.Percentile{Rank: rank, Length: time.Duration(-math.Log(1-rank/100) * float64(mean))}
	}
	for rank := 1.25; rank < 99; rank += 1.25 {
		l.Curve = append(l.Curve, at(rank))
	}
	for _, rank := range []float64{99, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.99, 99.999} {
		l.Curve = append(l.Curve, at(rank))
	}
	l.Curve = append(l.Curve, config.Percentile{Rank: 100, Length: 15 * mean})
	return l
}

// With a capacity, latency grows with the load as it does in a real server: the mean wait is the
// one that queueing theory predicts. docs/latency-and-limits.md has the table.
func TestCapacity_WaitsAsQueuesDo(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a CPU busy for some seconds")
	}
	requests, loads := 6000, []float64{0.3, 0.5, 0.7, 0.8}
	if !volume.Full() {
		requests, loads = 3000, []float64{0.5, 0.8}
	}
	for _, places := range []int{1, 8} {
		for _, load := range loads {
			seed := uint64(7)
			s := newServer(t, compile.Options{Seed: &seed}).serving(t, config.New(config.Endpoint{
				Path: "/x", Response: config.Response{Body: "ok"}, Latency: exponential(100 * time.Millisecond),
				Capacity: &config.Capacity{Concurrent: places, Queue: requests},
			}))
			warm(t, s)
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(places)))
				all := make([]*visitor, requests)
				at := time.Duration(0)
				for i := range all {
					at += time.Duration(random.ExpFloat64() * 1e8 / (load * float64(places)))
					all[i] = &visitor{at: at, path: "/x"}
				}
				visits(t, s, all)
				times := make([]float64, requests)
				sum := 0.0
				for i, v := range all {
					times[i] = (v.replied - v.at).Seconds() * 1000
					sum += times[i]
				}
				slices.Sort(times)
				mean, want := sum/float64(requests), 100*(1+erlangC(places, load))
				t.Logf("%d places at %.0f%%: mean %.0f ms, M/M/c %.0f ms; p50 %.0f, p99 %.0f", places, 100*load, mean, want, times[requests/2], times[requests*99/100])
				if mean < want*0.7 || mean > want*1.3 {
					t.Errorf("%d places at %.0f%%: the mean is %.0f ms, want about %.0f", places, 100*load, mean, want)
				}
			})
		}
	}
}
