package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mockserver/internal/harness/volume"
	"mockserver/internal/histogram"
)

// scripted is a server that runs a function supplied by the test for each connection.
type scripted struct {
	address  string
	accepted atomic.Int64
}

// serveScript starts a scripted server. serve is called for each connection, which is closed when
// it returns.
func serveScript(t *testing.T, serve func(conn net.Conn, from *bufio.Reader)) *scripted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{address: l.Addr().String()}
	var serving sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			serving.Go(func() {
				serve(conn, bufio.NewReader(conn))
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return s
}

// replying serves answers by request target, until the client closes the connection.
func replying(responses map[string]string) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, from *bufio.Reader) {
		for {
			request, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			if _, err := io.WriteString(conn, responses[request.RequestURI]); err != nil {
				return
			}
		}
	}
}

func get(target string) []byte {
	return []byte("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// okResponse has a body of five bytes.
const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// simple returns the plan of a short closed loop, which the test may change.
func simple(address string) *Plan {
	return &Plan{
		Address: address, Requests: [][]byte{get("/")}, Wants: []Want{{Status: 200, Length: 5}},
		Connections: 4, Duration: 100 * time.Millisecond, patience: 30 * time.Second,
	}
}

// checkLeaks checks at the end of a test that no goroutine and no descriptor is left.
func checkLeaks(t *testing.T) {
	t.Helper()
	present := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, present) })
	before := descriptors(t)
	t.Cleanup(func() {
		if now := descriptors(t); now > before { // the previous test may still have been closing some
			t.Errorf("%d descriptors open, %d before", now, before)
		}
	})
}

func mustRun(t *testing.T, l *Plan) *Outcome {
	t.Helper()
	o, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := snapshotOf(o).Count; n != o.Requests {
		t.Errorf("%d latencies of %d requests", n, o.Requests)
	}
	if o.Busy < 0 || o.Busy > 1 {
		t.Errorf("busy %g", o.Busy)
	}
	return o
}

// onlyError checks that all requests failed with one kind of error.
func onlyError(t *testing.T, o *Outcome, kind string) {
	t.Helper()
	if o.Requests != 0 || len(o.Errors) != 1 || o.Errors[kind] == 0 {
		t.Errorf("%d answered, errors %v; want only %q", o.Requests, o.Errors, kind)
	}
}

// The items of a stream count, each when it is complete, with how much later than due it came.
func TestLoadCountsItems(t *testing.T) {
	for _, gap := range []time.Duration{time.Nanosecond, time.Hour} {
		checkLeaks(t)
		s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
			_, _ = http.ReadRequest(from)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\nabc\r\n8\r\nabcabcab\r\n")
			_, _ = from.ReadByte() // three of four items, and a part, until the client leaves
		})
		p := simple(s.address)
		p.Wants, p.patience = []Want{{Status: 200, Length: 16, Items: 4, Gap: gap}}, time.Millisecond
		o := mustRun(t, p)
		latest := snapshotOf(o).Quantile(1)
		if o.Requests != uint64(3*p.Connections) || o.Errors["no answer"] != uint64(p.Connections) || latest > 0 != (gap < time.Hour) {
			t.Errorf("gap %v: %d items, errors %v, at most %v late", gap, o.Requests, o.Errors, latest)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct {
		name  string
		serve func(conn net.Conn, from *bufio.Reader)
		want  string
	}{
		{"wrong status", replying(map[string]string{"/": "HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\nhello"}), "status 500"},
		{"wrong length", replying(map[string]string{"/": "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell"}), "body of 4 bytes instead of 5"},
		{"another protocol", replying(map[string]string{"/": "220 smtp\r\n"}), "the answer does not begin with a status line of HTTP/1"},
		{"two answers", replying(map[string]string{"/": okResponse + okResponse}), "bytes after the end of the answer"},
		{"closes without an answer", func(_ net.Conn, from *bufio.Reader) { _, _ = http.ReadRequest(from) }, "closed by the server"},
		{"closes within an answer", func(conn net.Conn, from *bufio.Reader) {
			_, _ = http.ReadRequest(from)
			_, _ = io.WriteString(conn, okResponse[:len(okResponse)-1])
		}, "closed by the server within an answer"},
		{"resets within an answer", func(conn net.Conn, from *bufio.Reader) {
			_, _ = http.ReadRequest(from)
			_, _ = io.WriteString(conn, okResponse[:len(okResponse)-1])
			_ = conn.(*net.TCPConn).SetLinger(0)
		}, "reset by the server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkLeaks(t)
			s := serveScript(t, tt.serve)
			onlyError(t, mustRun(t, simple(s.address)), tt.want)
		})
	}
}

// If a server never answers, the load stops waiting after its patience, and each request is an
// error.
func TestLoadNoResponse(t *testing.T) {
	checkLeaks(t)
	s := serveScript(t, func(_ net.Conn, from *bufio.Reader) { _, _ = io.Copy(io.Discard, from) })
	l := simple(s.address)
	l.patience = 50 * time.Millisecond
	o := mustRun(t, l)
	onlyError(t, o, "no answer")
	if o.Errors["no answer"] != 4 {
		t.Errorf("%d errors of 4 connections", o.Errors["no answer"])
	}
}

// unusedAddress returns an address whose port the system does not assign to other programs that request any
// free port.
func unusedAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
}

func TestLoadRefused(t *testing.T) {
	checkLeaks(t)
	address := unusedAddress(t)
	_, err := simple(address).Run(t.Context())
	if want := "connect to " + address + ": connection refused"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestLoadChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(l *Plan)
		want   string
	}{
		"no port":      {func(l *Plan) { l.Address = "localhost" }, "missing port"},
		"unknown port": {func(l *Plan) { l.Address = "localhost:nosuchport" }, "nosuchport"},
	} {
		t.Run(name, func(t *testing.T) {
			l := simple("127.0.0.1:1")
			tt.change(l)
			if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// If a server goes away during the load, there are errors for as long as it is away, but the
// generator does not retry without a pause.
func TestLoadServerGoes(t *testing.T) {
	checkLeaks(t)
	l, err := net.Listen("tcp", unusedAddress(t)) // or another program's server may get the rest of the load
	if err != nil {
		t.Fatal(err)
	}
	var measured atomic.Bool
	var served atomic.Int64 // while the load is measured
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				from := bufio.NewReader(conn)
				for !measured.Load() || served.Add(1) <= 10 {
					if _, err := http.ReadRequest(from); err != nil {
						break
					}
					_, _ = io.WriteString(conn, okResponse)
				}
				_ = l.Close()
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // it may be closed
		serving.Wait()
	})
	load := simple(l.Addr().String())
	load.Duration = time.Second
	load.Counting = func(bool) { measured.Store(true) }
	o := mustRun(t, load)
	refused := o.Errors["connect: connection refused"]
	if o.Requests == 0 || refused == 0 {
		t.Errorf("%d answered, errors %v; want some of both", o.Requests, o.Errors)
	}
	if most := uint64(4 * 100); refused > most { // one every 10 ms
		t.Errorf("%d attempts to connect; at most %d in %s", refused, most, load.Duration)
	}
}

// All requests are sent in turn on each connection, and each answer is compared with the expected
// answer to its request.
func TestLoadInTurn(t *testing.T) {
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n4\r\ndefg\r\n0\r\nA: b\r\n\r\n"
	responses := map[string]string{
		"/a": okResponse,
		"/b": "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
		"/c": chunked,
		"/d": "HTTP/1.1 204 No Content\r\n\r\n",
		"/e": "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", // to HEAD
		"/f": "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + okResponse,
	}
	checkLeaks(t)
	var mu sync.Mutex
	var order [][]string // of each connection
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		var targets []string
		for {
			request, err := http.ReadRequest(from)
			if err != nil {
				break
			}
			targets = append(targets, request.RequestURI)
			_, _ = io.WriteString(conn, responses[request.RequestURI])
		}
		mu.Lock()
		defer mu.Unlock()
		order = append(order, targets)
	})
	l := simple(s.address)
	l.Requests = [][]byte{get("/a"), get("/b"), get("/c"), get("/d"), []byte("HEAD /e HTTP/1.1\r\nHost: x\r\n\r\n"), get("/f")}
	l.Wants = []Want{
		{Status: 200, Length: 5}, {Status: 404, Length: 2}, {Length: 7}, {Status: 201, Also: []int{200, 204}}, {Status: 200}, {Length: -1},
	}
	l.Connections = 3
	o := mustRun(t, l)
	if o.Requests < 6 || len(o.Errors) != 0 {
		t.Errorf("%d answered, errors %v", o.Requests, o.Errors)
	}
	var starts []string
	wait(t, &mu, func() bool { return len(order) == 3 })
	for _, targets := range order {
		starts = append(starts, targets[0])
		for i, target := range targets {
			if want := "/" + string(rune('a'+(int(targets[0][1]-'a')+i)%6)); target != want {
				t.Fatalf("request %d of a connection is %s, want %s", i, target, want)
			}
		}
	}
	slices.Sort(starts)
	if !slices.Equal(starts, []string{"/a", "/c", "/e"}) {
		t.Errorf("connections begin with %v, want a third of the requests apart", starts)
	}
}

// wait returns once a condition holds.
func wait(t *testing.T, mu *sync.Mutex, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		mu.Lock()
		holds := condition()
		mu.Unlock()
		if holds {
			return
		}
	}
	t.Fatal("timed out after 30 s")
}

// It is not an error if the server closes a connection after an answer that announces the close, or
// whose body ends with it; the connection is opened again.
func TestLoadServerCloses(t *testing.T) {
	for name, response := range map[string]string{
		"it says so":            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0":              "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"the end is the length": "HTTP/1.1 200 OK\r\n\r\nhello",
	} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
				if _, err := http.ReadRequest(from); err == nil {
					_, _ = io.WriteString(conn, response)
				}
			})
			o := mustRun(t, simple(s.address))
			if o.Requests == 0 || len(o.Errors) != 0 {
				t.Errorf("%d answered, errors %v", o.Requests, o.Errors)
			}
			if n := s.accepted.Load(); uint64(n) < o.Requests {
				t.Errorf("%d connections for %d requests", n, o.Requests)
			}
		})
	}
}

// The server may close idle connections at any time: with a rate, connections are idle between
// requests, and no request fails because of it.
func TestLoadServerClosesIdle(t *testing.T) {
	checkLeaks(t)
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		if _, err := http.ReadRequest(from); err == nil {
			_, _ = io.WriteString(conn, okResponse)
		}
	})
	l := simple(s.address)
	l.Rate, l.Duration = 50, 500*time.Millisecond
	o := mustRun(t, l)
	if o.Requests+o.Missed != 25 || o.Requests == 0 || len(o.Errors) != 0 {
		t.Errorf("%d answered, %d missed, errors %v; want 25 without errors", o.Requests, o.Missed, o.Errors)
	}
}

func TestLoadReadsResponsesByteByByte(t *testing.T) {
	checkLeaks(t)
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(from); err != nil {
				return
			}
			for _, b := range []byte(okResponse) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
			}
		}
	})
	o := mustRun(t, simple(s.address))
	if o.Requests == 0 || len(o.Errors) != 0 {
		t.Errorf("%d answered, errors %v", o.Requests, o.Errors)
	}
}

// Requests and answers may be larger than any buffer.
func TestLoadLargeBodies(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	request := append(fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(body)), body...)
	checkLeaks(t)
	var wrong atomic.Int64
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		for {
			request, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			got, err := io.ReadAll(request.Body)
			if err != nil {
				return
			}
			if !bytes.Equal(got, body) {
				wrong.Add(1)
			}
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	})
	l := simple(s.address)
	l.Requests, l.Wants = [][]byte{request}, []Want{{Status: 200, Length: len(body)}}
	l.Rate, l.Connections, l.Duration = 50, 2, 40*time.Millisecond // two requests, which are awaited
	o := mustRun(t, l)
	if o.Requests+o.Missed != 2 || o.Requests == 0 || len(o.Errors) != 0 || wrong.Load() != 0 {
		t.Errorf("%d answered, %d missed, errors %v, %d requests unlike the one sent", o.Requests, o.Missed, o.Errors, wrong.Load())
	}
}

// Counting is called at the beginning and then at the end of the counted time, and requests sent
// before and after it are not counted.
func TestLoadCounting(t *testing.T) {
	checkLeaks(t)
	var served atomic.Int64
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(from); err != nil {
				return
			}
			served.Add(1)
			_, _ = io.WriteString(conn, okResponse)
		}
	})
	l := simple(s.address)
	l.Warmup = 50 * time.Millisecond
	var borders []bool
	var at []int64
	l.Counting = func(begun bool) {
		borders, at = append(borders, begun), append(at, served.Load())
	}
	o := mustRun(t, l)
	for (o.Requests == 0 || at[0] == 0) && l.Duration < 20*time.Second { // on a busy machine
		borders, at, l.Warmup, l.Duration = nil, nil, 2*l.Warmup, 2*l.Duration
		served.Store(0)
		o = mustRun(t, l)
	}
	if !slices.Equal(borders, []bool{true, false}) {
		t.Fatalf("counting was called with %v", borders)
	}
	// At the beginning and at the end, as many requests as there are connections are in flight.
	if most := at[1] - at[0] + 2*int64(l.Connections); int64(o.Requests) > most || o.Requests == 0 {
		t.Errorf("%d counted, %d served meanwhile", o.Requests, at[1]-at[0])
	}
	if at[0] == 0 {
		t.Error("nothing was sent to warm up")
	}
	if o.Elapsed < l.Duration {
		t.Errorf("counted for %s of %s", o.Elapsed, l.Duration)
	}
}

// A canceled load stops at once, without errors, and returns what was counted until then.
func TestLoadCancelled(t *testing.T) {
	responses := replying(map[string]string{"/": okResponse})
	silent := func(_ net.Conn, from *bufio.Reader) { _, _ = io.Copy(io.Discard, from) }
	for name, tt := range map[string]struct {
		serve  func(net.Conn, *bufio.Reader)
		warmup time.Duration
		rate   float64
	}{
		"counting":             {responses, 0, 0},
		"counting, at a rate":  {responses, 0, 1000},
		"warming up":           {responses, time.Hour, 0},
		"warming up at a rate": {responses, time.Hour, 1000},
		"without an answer":    {silent, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var requests atomic.Int64
			s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
				tt.serve(conn, bufio.NewReader(readerFunc(func(p []byte) (int, error) {
					n, err := from.Read(p)
					if n > 0 && requests.Add(1) == 4 {
						cancel()
					}
					return n, err
				})))
			})
			l := simple(s.address)
			l.Warmup, l.Rate, l.Duration, l.patience = tt.warmup, tt.rate, time.Hour, time.Hour
			calls := 0
			l.Counting = func(bool) { calls++ }
			o, err := l.Run(ctx)
			if err != nil || len(o.Errors) != 0 || o.Elapsed >= time.Hour {
				t.Errorf("%v, errors %v, %s", err, o.Errors, o.Elapsed)
			}
			if tt.warmup > 0 && (o.Requests != 0 || o.Elapsed != 0 || calls != 0) {
				t.Errorf("%d counted in %s, counting called %d times", o.Requests, o.Elapsed, calls)
			}
			if calls%2 != 0 {
				t.Errorf("counting called %d times", calls)
			}
		})
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Nothing is allocated for a request.
func TestLoadAllocatesNothing(t *testing.T) {
	checkLeaks(t)
	request, response := get("/"), []byte(okResponse)
	s := serveScript(t, func(conn net.Conn, _ *bufio.Reader) {
		buf := make([]byte, len(request))
		for {
			if _, err := io.ReadFull(conn, buf); err != nil {
				return
			}
			if _, err := conn.Write(response); err != nil {
				return
			}
		}
	})
	for _, rate := range []float64{0, 5000} {
		l := simple(s.address)
		l.Rate, l.Warmup, l.Duration = rate, 50*time.Millisecond, 200*time.Millisecond
		var at [2]runtime.MemStats
		border := 0
		l.Counting = func(bool) {
			runtime.ReadMemStats(&at[border])
			border++
		}
		o := mustRun(t, l)
		// The remaining allocations are made by the runtime.
		if n := at[1].Mallocs - at[0].Mallocs; n > o.Requests/10+50 {
			t.Errorf("rate %g: %d allocations for %d requests", rate, n, o.Requests)
		}
	}
}

// At a rate, all requests that were due are accounted for, however busy the machine is.
func TestLoadRateExact(t *testing.T) {
	checkLeaks(t)
	s := serveScript(t, replying(map[string]string{"/": okResponse}))
	l := simple(s.address)
	l.Rate, l.Warmup, l.Duration = 1000, 100*time.Millisecond, 500*time.Millisecond
	o := mustRun(t, l)
	if o.Requests+o.Missed != 500 || o.Requests == 0 || len(o.Errors) != 0 {
		t.Errorf("%d answered, %d missed, errors %v; want 500 without errors", o.Requests, o.Missed, o.Errors)
	}
	if o.Elapsed != l.Duration {
		t.Errorf("counted for %s of %s", o.Elapsed, l.Duration)
	}
}

// A request that finds no free connection waits, and is missed if no connection becomes free.
func TestLoadRateMissed(t *testing.T) {
	checkLeaks(t)
	s := serveScript(t, func(_ net.Conn, from *bufio.Reader) { _, _ = io.Copy(io.Discard, from) })
	for warmup, errors := range map[time.Duration]uint64{0: 4, 100 * time.Millisecond: 0} {
		l := simple(s.address)
		l.Rate, l.Warmup, l.Duration, l.patience = 1000, warmup, 300*time.Millisecond, time.Millisecond
		o := mustRun(t, l)
		// After a warm-up, the connections still wait for the answers to its requests.
		if o.Missed != 300-errors || o.Errors["no answer"] != errors || o.Requests != 0 {
			t.Errorf("warm-up %s: %d missed, errors %v, %d answered; want %d missed, %d not answered",
				warmup, o.Missed, o.Errors, o.Requests, 300-errors, errors)
		}
	}
}

// Requests that could not be sent in the warm-up do not reduce the number of counted requests.
func TestLoadRateAboveCapacity(t *testing.T) {
	checkLeaks(t)
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(from); err != nil {
				return
			}
			<-time.NewTimer(5 * time.Millisecond).C
			_, _ = io.WriteString(conn, okResponse)
		}
	})
	l := simple(s.address)
	l.Connections, l.Rate, l.Warmup, l.Duration = 1, 2000, 200*time.Millisecond, 500*time.Millisecond
	o := mustRun(t, l)
	if o.Requests == 0 || o.Requests+o.Missed != 1000 || len(o.Errors) != 0 {
		t.Errorf("%d answered, %d missed, errors %v; want some answered, 1000 in all and no errors", o.Requests, o.Missed, o.Errors)
	}
}

// A server that stalls once also delays the requests that become due during the stall, not only
// those in flight: latency counts from when a request should have been sent.
func TestLoadRateStall(t *testing.T) {
	volume.Only(t)
	const stall = 300 * time.Millisecond
	checkLeaks(t)
	var lock sync.Mutex // held by the request that stalls
	var served atomic.Int64
	s := serveScript(t, func(conn net.Conn, from *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(from); err != nil {
				return
			}
			lock.Lock()
			if served.Add(1) == 100 {
				<-time.NewTimer(stall).C
			}
			lock.Unlock()
			_, _ = io.WriteString(conn, okResponse)
		}
	})
	l := simple(s.address)
	l.Rate, l.Duration = 1000, time.Second
	o := mustRun(t, l)
	if o.Requests+o.Missed != 1000 || len(o.Errors) != 0 {
		t.Errorf("%d answered, %d missed, errors %v; want 1000 without errors", o.Requests, o.Missed, o.Errors)
	}
	// One request is due every millisecond. Those due in the first 150 ms of the stall took 150
	// ms or more, however slow the machine is; a twentieth is allowed for inaccuracy.
	slow := above(o, 150*time.Millisecond) + o.Missed
	if slow < 140 {
		t.Errorf("%d took over 150 ms, want 150; four if only the requests under way count", slow)
	}
	if o.Late+o.Missed < 280 {
		t.Errorf("%d sent late, want 295", o.Late)
	}
}

// snapshotOf returns the latencies of an outcome.
func snapshotOf(o *Outcome) (s histogram.Snapshot) {
	o.Latency.Read(&s)
	return s
}

// above counts the latencies of d or more.
func above(o *Outcome, d time.Duration) (n uint64) {
	for length, count := range snapshotOf(o).Cells() {
		if length >= d {
			n += count
		}
	}
	return n
}

// descriptors counts the open descriptors of this process, if the system reports them.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(open)
}
