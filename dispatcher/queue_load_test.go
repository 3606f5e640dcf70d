package dispatcher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/internal/harness/volume"

	"go.uber.org/goleak"
)

// A target that accepts every request and responds to none has no effect on other targets: all of
// their deliveries are completed while those of the dead target still wait.
func TestQueue_DeadTargetNextToALiveOne(t *testing.T) {
	const each = 500
	var held atomic.Int64
	dead := scripted(t, func(_ int, c net.Conn) {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			held.Add(1)
		}
		io.Copy(io.Discard, c)
	})
	live := newRawTarget(t, nil)
	q := opened(t, Options{Workers: 64})
	silent, responses := hook(dead), hook(live.url())
	silent.Timeout = time.Hour
	due := time.Now()
	for range each { // all are due at the same time, alternating between the targets
		enqueue(q, NewDelivery(silent, 0, 1, Parts{}), due)
		enqueue(q, NewDelivery(responses, 0, 1, Parts{}), due)
	}
	s := until(t, q, "all of the live target's are delivered", func(s Stats) bool { return s.Delivered == each })
	if s.Pending != each || s.Dead != 0 {
		t.Errorf("%d pending, %d dead; want the %d of the dead target still pending", s.Pending, s.Dead, each)
	}
	until(t, q, "what the dead target may have is with it", func(s Stats) bool { return s.Due+held.Load() == each })
	for range each { // and once more, while the dead target occupies as many workers as it may
		enqueue(q, NewDelivery(responses, 0, 1, Parts{}), time.Now())
	}
	s = until(t, q, "those that came later are delivered too", func(s Stats) bool { return s.Delivered == 2*each })
	if s.Pending != each || live.count.Load() != 2*each {
		t.Errorf("%d pending, %d received; want %d, %d", s.Pending, live.count.Load(), each, 2*each)
	}
}

// A million deliveries that are due at the same time are sent by the available workers, and each
// arrives once.
func TestQueue_AMillionAtOnce(t *testing.T) {
	n := 1_000_000
	if !volume.Full() || raceDetector {
		n = 30_000
	}
	arrived := make([]atomic.Uint32, n)
	var most atomic.Int64
	var target *rawTarget
	seen := func(request []byte) {
		digits, _, _ := bytes.Cut(bytes.TrimPrefix(request, []byte("POST /")), []byte(" "))
		i, err := strconv.Atoi(string(digits))
		if err != nil || i >= n {
			t.Errorf("unexpected request %q", request)
			return
		}
		if arrived[i].Add(1) == 1 && i%100 == 0 { // including the target's own goroutines
			running := int64(runtime.NumGoroutine()) - target.open.Load()
			for was := most.Load(); running > was && !most.CompareAndSwap(was, running); was = most.Load() {
			}
		}
	}
	target = newRawTarget(t, seen)
	q, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	w := hook("")
	w.Timeout = time.Hour
	due := time.Now().Add(time.Second)
	for i := range n {
		if !enqueue(q, NewDelivery(w, 0, 1, Parts{URL: fmt.Appendf(nil, "%s/%d", target.url(), i)}), due) {
			t.Fatal("refused")
		}
	}
	s, err := q.Close(context.Background()) // once all are sent
	if err != nil || s.Delivered != int64(n) || s.Abandoned != 0 {
		t.Errorf("%d delivered, %d dead, %d abandoned, %v; want %d", s.Delivered, s.Dead, s.Abandoned, err, n)
	}
	for i := range arrived {
		if got := arrived[i].Load(); got != 1 {
			t.Fatalf("number %d arrived %d times", i, got)
		}
	}
	t.Logf("%d goroutines at most, %d before", most.Load(), before)
	if most.Load() > int64(before)+defaultWorkers+10 {
		t.Errorf("%d goroutines, %d workers and %d before", most.Load(), defaultWorkers, before)
	}
}

// The queue notices that a worker becomes free, even if none of its methods is called.
func TestQueue_WakesForFreeWorkers(t *testing.T) {
	const n = 100
	got := make(chan struct{}, n)
	target := newRawTarget(t, func([]byte) { got <- struct{}{} })
	q := opened(t, Options{Workers: 1})
	for range n {
		enqueue(q, NewDelivery(hook(target.url()), 0, 1, Parts{}), time.Now())
	}
	for i := range n {
		select {
		case <-got:
		case <-time.After(patience):
			t.Fatalf("%d of %d arrive", i, n)
		}
	}
}

// descriptors returns how many descriptors are open; 0 if that is unknown.
func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// A closed queue leaves neither goroutines nor descriptors, whatever state its deliveries are in.
func TestQueue_LeavesNothingWhateverIsPending(t *testing.T) {
	for _, store := range []bool{false, true} {
		t.Run(fmt.Sprintf("store %v", store), func(t *testing.T) {
			dir := ""
			if store {
				dir = t.TempDir()
			}
			newRawTarget(t, nil).end() // opens in advance what the runtime keeps open
			goroutines, files := goleak.IgnoreCurrent(), descriptors()
			leaveEverything(t, dir)
			goleak.VerifyNone(t, goroutines)
			if left := descriptors(); left > files {
				t.Errorf("%d descriptors, %d before", left, files)
			}
		})
	}
}

// leaveEverything closes a queue that contains deliveries in every state: one in each, and several
// that are due.
func leaveEverything(t *testing.T, dir string) {
	t.Helper()
	live, failing := newRawTarget(t, nil), newRawTarget(t, nil)
	defer live.end()
	defer failing.end()
	failing.response = []byte("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n")
	hang, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts the connections
	if err != nil {
		t.Fatal(err)
	}
	defer hang.Close()
	q, err := Open(Options{Workers: 2, Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	send := func(url string, delay time.Duration) {
		w := hook(url)
		w.Timeout = time.Hour
		w.Retry = Retry{Attempts: 2, Backoff: time.Hour, MaxBackoff: time.Hour}
		if !enqueue(q, NewDelivery(w, delay, 1, Parts{Body: []byte("own")}), time.Now()) {
			t.Fatal("refused")
		}
	}
	send(live.url(), 0)
	send(failing.url(), 0)
	until(t, q, "one is delivered and one backs off", func(s Stats) bool { return s.Delivered == 1 && s.Retried == 1 })
	send(live.url(), time.Hour)
	for range 5 {
		send("http://"+hang.Addr().String(), 0)
	}
	until(t, q, "one is in flight and the others of its target are due", func(s Stats) bool { return s.InFlight == 1 && s.Due == 4 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := q.Close(ctx)
	if err != nil || s.Pending != 7 || s.Abandoned+s.Kept != 7 || s.InFlight != 0 {
		t.Errorf("pending %d, abandoned %d, kept %d, in flight %d, %v; want 7 left", s.Pending, s.Abandoned, s.Kept, s.InFlight, err)
	}
}
