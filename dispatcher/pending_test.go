package dispatcher

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestQueue_ListsWhatIsPending(t *testing.T) {
	q := opened(t, Options{})
	if list, all := q.List(10); len(list) != 0 || all != 0 {
		t.Fatalf("an empty queue lists %v of %d", list, all)
	}
	const n = 3*lookAt + 5 // examined in several steps
	w := hook("http://127.0.0.1:9/own")
	w.Body = nil
	for i := range n {
		p := Parts{}
		if i == n-1 {
			p.URL = []byte("http://127.0.0.1:9/first")
		}
		enqueue(q, NewDelivery(w, time.Hour+time.Duration(n-i)*time.Second, 1, p), time.Now())
	}
	list, all := q.List(3)
	if all != n || len(list) != 3 {
		t.Fatalf("listed %d of %d; want 3 of %d", len(list), all, n)
	}
	if list[0].URL != "http://127.0.0.1:9/first" || list[1].URL != w.URL || list[0].Webhook != "test" || list[0].Method != "POST" || list[0].Attempt != 0 || list[0].InFlight {
		t.Errorf("the first are %+v", list[:2])
	}
	for i := range 2 {
		if !list[i].Due.Before(list[i+1].Due) {
			t.Errorf("out of order: %v", list)
		}
	}
	if early := time.Until(list[0].Due); early < 59*time.Minute || early > 61*time.Minute {
		t.Errorf("the first is due in %v, want an hour", early)
	}
}

func TestQueue_ListsWhyTheLastAttemptFailed(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	t.Cleanup(busy.Close)
	hang, err := net.Listen("tcp", "127.0.0.1:0") // nothing accepts the connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hang.Close() })
	silent := hang.Addr().String()
	halting := scripted(t, func(_ int, c net.Conn) {
		if in := bufio.NewReader(c); readRequest(in) {
			io.WriteString(c, "HTTP/1.1 2")
			readRequest(in) // until the peer is done
		}
	})
	for _, c := range []struct{ url, want string }{
		{busy.URL, "status 503"},
		{"http://ann:hunter2@" + silent + "/x", "no answer from http://" + silent + " within 500ms, attempt 1 of 3"},
		{halting, "no answer from " + halting + " within 500ms, attempt 1 of 3"},
		{"https://" + silent, "no connection to https://" + silent + " within 500ms, attempt 1 of 3"}, // TLS never begins
		{"http://" + closedPort(t), "connection refused"},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel() // some attempts take half a second
			var failed failures
			q := opened(t, Options{Failed: failed.add})
			w := hook(c.url)
			if strings.Contains(c.want, "500ms") { // a target that responds does so in time
				w.Timeout = 500 * time.Millisecond
			}
			w.Retry = Retry{Attempts: 3, Backoff: time.Hour, MaxBackoff: time.Hour}
			enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
			until(t, q, "it waits for its second attempt", func(s Stats) bool { return s.Retried == 1 })
			list, _ := q.List(1)
			if len(list) != 1 || list[0].Attempt != 1 || !strings.Contains(list[0].LastError, c.want) {
				t.Fatalf("%s: listed %+v, want %q", c.url, list, c.want)
			}
			if c.want != "status 503" && !strings.Contains(failed.String(), c.want) {
				t.Errorf("%s: Failed was called with %v, want %q", c.url, &failed, c.want)
			}
			if gone := q.GivenUp(); len(gone) != 0 {
				t.Errorf("%s: one that waits for another attempt is given up: %+v", c.url, gone)
			}
			if err := q.Cancel(list[0].ID); err != nil {
				t.Fatal(err)
			}
			once := *w
			once.Retry = Retry{}
			for range 2 {
				enqueue(q, NewDelivery(&once, 0, 1, Parts{}), time.Now())
			}
			until(t, q, "both are given up", func(s Stats) bool { return s.Dead == 2 })
			if gone := q.GivenUp(); len(gone) != 1 || gone[0].Count != 2 || gone[0].URL != c.url || gone[0].Webhook != "test" || !strings.Contains(gone[0].LastError, strings.Replace(c.want, " of 3", " of 1", 1)) {
				t.Errorf("%s: given up are %+v, want two for %q", c.url, gone, c.want)
			}
			enqueue(q, NewDelivery(w, time.Hour, 1, Parts{}), time.Now())
			if list, _ := q.List(1); len(list) != 1 || list[0].LastError != "" {
				t.Errorf("%s: one that was never sent is listed as %+v", c.url, list)
			}
		})
	}
}

func TestQueue_FiresAndCancels(t *testing.T) {
	var calls atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer target.Close()
	q := opened(t, Options{Store: t.TempDir()})
	for _, id := range []string{"", "x", "0-0", "1-1", "-1-5", "99999999999-1"} {
		if err := q.Fire(id); !errors.Is(err, ErrUnknown) {
			t.Errorf("firing %q: %v", id, err)
		}
		if err := q.Cancel(id); !errors.Is(err, ErrUnknown) {
			t.Errorf("cancelling %q: %v", id, err)
		}
	}
	for range 3 {
		enqueue(q, NewDelivery(hook(target.URL), time.Hour, 1, Parts{}), time.Now())
	}
	list, _ := q.List(3)
	if err := q.Fire(list[1].ID); err != nil {
		t.Fatal(err)
	}
	s := until(t, q, "the fired one is delivered", func(s Stats) bool { return s.Delivered == 1 })
	if s.Lag.Max > time.Minute {
		t.Errorf("it counts as %v late", s.Lag.Max)
	}
	if err := q.Cancel(list[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{list[0].ID, list[1].ID} {
		if err := q.Cancel(id); !errors.Is(err, ErrUnknown) {
			t.Errorf("a second time: %v", err)
		}
	}
	if s := q.Stats(); s.Pending != 1 || s.Cancelled != 1 {
		t.Errorf("%d pending, %d cancelled; want 1, 1", s.Pending, s.Cancelled)
	}
	if left, all := q.List(5); all != 1 || left[0].ID != list[2].ID || calls.Load() != 1 {
		t.Errorf("%v are left; %d calls", left, calls.Load())
	}
}

// A delivery that is due and waits for a worker is not sent after it has been canceled. A delivery
// that is with a worker cannot be canceled.
func TestQueue_CancelsWhatIsReady(t *testing.T) {
	begun, release := make(chan string, 3), make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- r.URL.Path
		<-release
	}))
	defer target.Close()
	q := opened(t, Options{Workers: 1})
	for i := range 3 {
		enqueue(q, NewDelivery(hook(fmt.Sprintf("%s/%d", target.URL, i)), 0, 1, Parts{}), time.Now())
	}
	first := <-begun
	until(t, q, "the others wait for the worker", func(s Stats) bool { return s.Due == 2 })
	list, all := q.List(3)
	if all != 3 {
		t.Fatalf("%d are pending", all)
	}
	kept := ""
	for _, p := range list {
		switch {
		case p.InFlight:
			if err := q.Cancel(p.ID); !errors.Is(err, ErrInFlight) || p.URL != target.URL+first {
				t.Errorf("cancelling %s, which is being sent: %v", p.URL, err)
			}
		case kept == "":
			kept = p.URL
		default:
			if err := q.Cancel(p.ID); err != nil {
				t.Error(err)
			}
		}
	}
	close(release)
	if second := <-begun; target.URL+second != kept {
		t.Errorf("%s was sent, want %s", second, kept)
	}
	s := until(t, q, "nothing is pending", func(s Stats) bool { return s.Pending == 0 && s.Due == 0 })
	if s.Delivered != 2 || s.Cancelled != 1 || len(begun) != 0 {
		t.Errorf("%d delivered, %d cancelled", s.Delivered, s.Cancelled)
	}
}

func TestQueue_ACancelledOneIsNotInTheStore(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(Options{Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		enqueue(q, NewDelivery(hook("http://127.0.0.1:9/"), time.Hour, 1, Parts{}), time.Now())
	}
	list, _ := q.List(2)
	if err := q.Cancel(list[0].ID); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := q.Close(over); err != nil {
		t.Fatal(err)
	}
	if err := q.Fire(list[1].ID); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if list, all := q.List(2); len(list)+all != 0 {
		t.Errorf("after the end %v are pending", list)
	}
	if s := until(t, opened(t, Options{Store: dir}), "the other is there again", func(s Stats) bool { return s.Pending > 0 }); s.Pending != 1 {
		t.Errorf("%d are pending", s.Pending)
	}
}
