package dispatcher

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mockserver/internal/histogram"
)

const patience = 20 * time.Second

func opened(t *testing.T, opts Options) *Queue {
	t.Helper()
	q, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		q.Close(ctx)
	})
	return q
}

func enqueue(q *Queue, d Delivery, written time.Time) bool {
	if err := q.Accept(&d); err != nil {
		return false
	}
	q.Start(d, written)
	return true
}

func hook(url string) *Webhook {
	return &Webhook{Name: "test", Method: "POST", URL: url, Body: []byte(`{"a":1}`), Header: []byte("Content-Type: application/json\r\n"), Timeout: patience}
}

// until waits until the stats satisfy a condition.
func until(t *testing.T, q *Queue, what string, holds func(Stats) bool) Stats {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s := q.Stats()
		if holds(s) {
			return s
		}
		if time.Now().After(deadline) {
			s.Lag = histogram.Snapshot{}
			t.Fatalf("timed out waiting for: %s; stats %+v", what, s)
		}
	}
}

func TestQueue_Sends(t *testing.T) {
	got := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- fmt.Sprintf("%s %s %s %s depth %s", r.Method, r.URL, r.Header.Get("Content-Type"), b, r.Header.Get(DepthHeader))
	}))
	defer target.Close()
	q := opened(t, Options{})
	w := hook(target.URL + "/fixed?a=%20b")
	enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
	want := `POST /fixed?a=%20b application/json {"a":1} depth 1`
	if s := <-got; s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	enqueue(q, NewDelivery(w, time.Millisecond, 3, Parts{URL: []byte(target.URL + "/own"), Body: []byte{}}), time.Now())
	want = `POST /own application/json  depth 3`
	if s := <-got; s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	s := until(t, q, "both delivered", func(s Stats) bool { return s.Delivered == 2 })
	if s.Pending != 0 || s.InFlight != 0 || s.Lag.Count != 2 {
		t.Errorf("pending %d, in flight %d, lag of %d; want 0, 0, 2", s.Pending, s.InFlight, s.Lag.Count)
	}
}

// The lateness caused by a target that does not respond is known while its deliveries still wait.
func TestQueue_LatenessIsKnownBeforeAResponse(t *testing.T) {
	over := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer target.Close()
	defer close(over)
	q := opened(t, Options{Workers: 4})
	for range 20 {
		enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
	}
	s := until(t, q, "sent, and waiting for a worker", func(s Stats) bool {
		return s.Lag.Count > 0 && s.Lag.Count == uint64(s.InFlight) && s.Due > 0 && s.Oldest > time.Millisecond
	})
	if s.Delivered+s.Dead != 0 || s.Lag.Count+uint64(s.Due) != 20 {
		t.Errorf("got %+v, want none delivered, and each of 20 sent or due", s)
	}
}

func TestQueue_NotBeforeItIsDue(t *testing.T) {
	at := make(chan time.Time, 1)
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { at <- time.Now() }))
	defer target.Close()
	q := opened(t, Options{})
	written := time.Now().Add(-100 * time.Millisecond)
	enqueue(q, NewDelivery(hook(target.URL), 250*time.Millisecond, 1, Parts{}), written)
	if early := written.Add(250 * time.Millisecond).Sub(<-at); early > 0 {
		t.Errorf("sent %v early", early)
	}
}

func TestQueue_RetriesUntilItSucceeds(t *testing.T) {
	var calls atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(500)
		}
	}))
	defer target.Close()
	q := opened(t, Options{})
	w := hook(target.URL)
	w.Retry = Retry{Attempts: 5, Backoff: time.Millisecond, MaxBackoff: time.Second}
	enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
	s := until(t, q, "delivered", func(s Stats) bool { return s.Delivered == 1 })
	if calls.Load() != 3 || s.Retried != 2 || s.Dead != 0 {
		t.Errorf("%d calls, %d retried, %d dead; want 3, 2, 0", calls.Load(), s.Retried, s.Dead)
	}
}

func TestQueue_GivesUp(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	hang, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts the connections
	if err != nil {
		t.Fatal(err)
	}
	defer hang.Close()
	statuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/moved":
			w.Header().Set("Location", "/ok")
			w.WriteHeader(302)
		default:
			var status int
			fmt.Sscanf(r.URL.Path, "/%d", &status)
			w.WriteHeader(status)
		}
	}))
	defer statuses.Close()
	cases := []struct {
		name, url                string
		delivered, retried, dead int64
	}{
		{"refused connection", "http://" + closed.Addr().String(), 0, 1, 1},
		{"no answer", "http://" + hang.Addr().String(), 0, 1, 1},
		{"connection cut", statuses.URL + "/cut", 0, 1, 1},
		{"500", statuses.URL + "/500", 0, 1, 1},
		{"429", statuses.URL + "/429", 0, 1, 1},
		{"404 is not tried again", statuses.URL + "/404", 0, 0, 1},
		{"a redirect is not followed", statuses.URL + "/moved", 1, 0, 0},
		{"no scheme", "example.com/x", 0, 0, 1},
		{"other scheme", "ftp://example.com/x", 0, 0, 1},
		{"no host", "http:///x", 0, 0, 1},
		{"port only", "http://:80/x", 0, 0, 1},
		{"no port that is one", "http://127.0.0.1:notaport/x", 0, 0, 1},
		{"too large a port", "http://127.0.0.1:65536/x", 0, 0, 1},
		{"control character", "http://127.0.0.1:1/a\nb", 0, 0, 1},
		{"blank in the host", "http://127.0.0.1 :1/", 0, 0, 1},
		{"half an address", "http://[::1/", 0, 0, 1},
		{"half an escape", "http://a%zz:b@127.0.0.1:1/", 0, 0, 1},
		{"empty", "", 0, 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := opened(t, Options{})
			w := hook(c.url)
			if c.name == "no answer" { // other targets respond in time, however busy the machine is
				w.Timeout = 100 * time.Millisecond
			}
			w.Retry = Retry{Attempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}
			enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
			s := until(t, q, "finished", func(s Stats) bool { return s.Pending == 0 })
			if s.Delivered != c.delivered || s.Retried != c.retried || s.Dead != c.dead {
				t.Errorf("delivered %d, retried %d, dead %d; want %d, %d, %d", s.Delivered, s.Retried, s.Dead, c.delivered, c.retried, c.dead)
			}
			if gone := q.GivenUp(); len(gone) != int(c.dead) || len(gone) > 0 && (gone[0].URL != c.url || gone[0].LastError == "") {
				t.Errorf("given up are %+v, want %d with the reason", gone, c.dead)
			}
		})
	}
}

// A target that never responds occupies workers, but never all of them.
func TestQueue_DeadTargetsLeaveWorkersToOthers(t *testing.T) {
	q := opened(t, Options{Workers: 8})
	for range 3 {
		hang, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer hang.Close()
		for range 100 {
			enqueue(q, NewDelivery(hook("http://"+hang.Addr().String()), 0, 1, Parts{}), time.Now())
		}
	}
	until(t, q, "the dead targets have what they may", func(s Stats) bool { return s.InFlight >= 6 })
	live := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer live.Close()
	for range 50 {
		enqueue(q, NewDelivery(hook(live.URL), 0, 1, Parts{}), time.Now())
	}
	s := until(t, q, "all of the live target's are delivered", func(s Stats) bool { return s.Delivered == 50 })
	if s.Dead != 0 || s.Pending != 300 {
		t.Errorf("%d dead, %d pending; want 0 and 300", s.Dead, s.Pending)
	}
}

func TestTarget_MayTake(t *testing.T) {
	for _, c := range []struct {
		inFlight, failures, free int
		want                     bool
	}{
		{0, 0, 0, false}, {0, 0, 1, true}, {1, 0, 1, false}, {1, 0, 2, true}, {511, 0, 513, true}, {513, 0, 511, false},
		{7, 100, 100, true}, {8, 100, 100, false}, {8, 7, 100, true}, {0, 100, 1, true},
	} {
		target := target{inFlight: c.inFlight, failures: c.failures}
		if got := target.mayTake(c.free); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestQueue_RefusesWhatIsTooMuch(t *testing.T) {
	q := opened(t, Options{MaxPending: 3})
	taken := 0
	for range 10 {
		if enqueue(q, NewDelivery(hook("http://127.0.0.1:1"), time.Hour, 1, Parts{}), time.Now()) {
			taken++
		}
	}
	s := q.Stats()
	if taken != 3 || s.Pending != 3 || s.Refused != 7 {
		t.Errorf("accepted %d, pending %d, refused %d; want 3, 3, 7", taken, s.Pending, s.Refused)
	}
}

func TestQueue_ClosesAfterWhatIsDue(t *testing.T) {
	var calls atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer target.Close()
	q, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := hook(target.URL)
	for i := range 20 {
		enqueue(q, NewDelivery(w, time.Duration(i)*5*time.Millisecond, 1, Parts{}), time.Now())
	}
	for range 7 {
		enqueue(q, NewDelivery(w, time.Hour, 1, Parts{}), time.Now())
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s, err := q.Close(ctx); s.Abandoned != 7 || err != nil {
		t.Errorf("%d abandoned, %v; want 7", s.Abandoned, err)
	}
	if ctx.Err() != nil {
		t.Error("closing waited for webhooks that are due after its end")
	}
	if s := q.Stats(); s.Delivered != 20 || calls.Load() != 20 || s.Abandoned != 7 {
		t.Errorf("%d delivered, %d received, %d abandoned; want 20, 20, 7", s.Delivered, calls.Load(), s.Abandoned)
	}
	if enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now()) {
		t.Error("a closed queue accepted a delivery")
	}
}

func TestQueue_ClosingBreaksOffWhatHangs(t *testing.T) {
	var accepted sync.WaitGroup
	accepted.Add(1)
	hang, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hang.Close()
	go func() {
		c, err := hang.Accept()
		if err == nil {
			defer c.Close()
			accepted.Done()
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	q, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	enqueue(q, NewDelivery(hook("http://"+hang.Addr().String()), 0, 1, Parts{}), time.Now())
	accepted.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	q.Close(ctx) // returns although the target does not respond
	if s := q.Stats(); s.Dead != 0 || s.Abandoned != 1 || s.InFlight != 0 {
		t.Errorf("%d dead, %d abandoned, %d in flight; want one abandoned", s.Dead, s.Abandoned, s.InFlight)
	}
}

// Deliveries that are in flight when the queue is closed are kept in the store.
func TestQueue_WhatIsBrokenOffIsKept(t *testing.T) {
	began := make(chan struct{}, 1)
	release := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-release
	}))
	defer target.Close()
	defer close(release)
	dir := t.TempDir()
	q, err := Open(Options{Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := q.Close(ctx); s.Kept != 1 || s.Dead != 0 || err != nil {
		t.Errorf("kept %d, dead %d, %v; want 1, 0", s.Kept, s.Dead, err)
	}
	if s := opened(t, Options{Store: dir}).Stats(); s.Pending != 1 {
		t.Errorf("%d pending after the restart, want 1", s.Pending)
	}
}

// Every call to Close returns, even if there are several concurrent ones, and afterwards the store
// is unlocked.
func TestQueue_ClosedByMany(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		q, err := Open(Options{Store: dir})
		if err != nil {
			t.Fatal(err)
		}
		enqueue(q, NewDelivery(hook("http://127.0.0.1:1"), time.Hour, 1, Parts{}), time.Now())
		var closing sync.WaitGroup
		for range 4 {
			closing.Go(func() { q.Close(ctx) })
		}
		q.Close(ctx)
		again, err := Open(Options{Store: dir}) // before waiting for the others
		if err != nil {
			t.Fatal(err)
		}
		again.Close(ctx)
		closing.Wait()
	}
}

// No delivery is lost if a target closes idle connections.
func TestQueue_OutlivesIdleConnections(t *testing.T) {
	closed := make(chan struct{}, 1)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") // as if the connection were kept open
		conn.Close()
		closed <- struct{}{}
	}))
	defer target.Close()
	q := opened(t, Options{})
	w := hook(target.URL)
	for i := range int64(100) {
		enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
		<-closed
		until(t, q, "finished", func(s Stats) bool { return s.Delivered+s.Dead == i+1 })
	}
	if s := q.Stats(); s.Dead != 0 {
		t.Errorf("%d of 100 were lost", s.Dead)
	}
}

// Deliveries that were accepted before a crash are sent after it, always with the same key;
// deliveries that were completed are not sent again.
func TestQueue_StoreSurvivesACrash(t *testing.T) {
	keys := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		keys <- string(b) + " " + r.Header.Get(KeyHeader) + " " + r.Header.Get("X-Own")
	}))
	defer target.Close()
	dir := t.TempDir()
	q := opened(t, Options{Store: dir})
	w := hook(target.URL)
	enqueue(q, NewDelivery(w, 0, 1, Parts{Body: []byte("sent")}), time.Now())
	<-keys
	until(t, q, "delivered", func(s Stats) bool { return s.Delivered == 1 })
	late := NewDelivery(w, time.Hour, 1, Parts{Body: []byte("late")})
	soon := NewDelivery(w, 0, 1, Parts{Body: []byte("soon"), Header: []byte("X-Own: yes\r\n")})
	for _, d := range []*Delivery{&late, &soon} { // accepted, but never started
		if err := q.Accept(d); err != nil {
			t.Fatal(err)
		}
	}
	crashed := t.TempDir()
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("soon %016x yes", soon.id)
	for range 2 { // another crash before the delivery is recorded
		again := t.TempDir()
		if err := os.CopyFS(again, os.DirFS(crashed)); err != nil {
			t.Fatal(err)
		}
		q := opened(t, Options{Store: again})
		if got := <-keys; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if s := until(t, q, "delivered", func(s Stats) bool { return s.Delivered == 1 }); s.Pending != 1 {
			t.Errorf("%d pending, want the late one", s.Pending)
		}
	}
}

func TestQueue_CloseKeepsWhatIsStored(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		q, err := Open(Options{Store: dir})
		if err != nil {
			t.Fatal(err)
		}
		if s := q.Stats(); s.Pending != int64(i) {
			t.Errorf("%d pending, want %d", s.Pending, i)
		}
		enqueue(q, NewDelivery(hook("http://127.0.0.1:1"), time.Hour, 1, Parts{}), time.Now())
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		s, err := q.Close(ctx) // returns at once: nothing falls due within a minute
		cancel()
		if err != nil || s.Kept != int64(i+1) || s.Abandoned != 0 {
			t.Errorf("kept %d, abandoned %d, %v; want %d, 0", s.Kept, s.Abandoned, err, i+1)
		}
	}
}

// A closed queue leaves no goroutine behind. Those that importing the package ants has started run
// before the queue is opened.
func TestQueue_LeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	q, err := Open(Options{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
	}
	until(t, q, "delivered", func(s Stats) bool { return s.Delivered == 100 })
	if _, err := q.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	target.Close()
	goleak.VerifyNone(t, before)
}

func TestQueue_PendingTakesLittleMemory(t *testing.T) {
	q := opened(t, Options{})
	w := hook("http://127.0.0.1:1/x")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const pending = 1_000_000
	for i := range pending {
		enqueue(q, NewDelivery(w, time.Hour+time.Duration(i)*time.Millisecond, 1, Parts{}), time.Now())
	}
	q.Stats()
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / pending
	t.Logf("%.1f bytes each; a pause took %v", each, time.Duration(after.PauseNs[(after.NumGC+255)%256]))
	if each > 200 {
		t.Errorf("%.1f bytes for each pending delivery, want 200 at most", each)
	}
}
