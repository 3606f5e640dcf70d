package dispatcher

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The wait that the target requests replaces the back-off, up to the longest back-off.
func TestQueue_WaitsAsLongAsItsTargetAsks(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		if r.URL.Query().Has("after") {
			w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		}
		if r.URL.Query().Has("until") {
			w.Header().Set("Retry-After", time.Now().Add(2*time.Hour).UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(status)
	}))
	defer target.Close()
	q := opened(t, Options{})
	for i, c := range []struct {
		path          string
		backoff, most time.Duration
		from, to      time.Duration // the wait, which the test itself may shorten by minutes
	}{
		{"/429?after=7200", time.Millisecond, 3 * time.Hour, 110 * time.Minute, 2 * time.Hour},
		{"/503?until", time.Millisecond, 3 * time.Hour, 110 * time.Minute, 2 * time.Hour},
		{"/429?after=7200", 10 * time.Hour, 10 * time.Hour, 110 * time.Minute, 2 * time.Hour},
		{"/503?after=99999999999999999999", time.Millisecond, time.Hour, 50 * time.Minute, time.Hour},
		{"/429?after=0", 4 * time.Hour, 4 * time.Hour, 110 * time.Minute, 4 * time.Hour},
		{"/500?after=60", 4 * time.Hour, 4 * time.Hour, 110 * time.Minute, 4 * time.Hour},
		{"/429", 4 * time.Hour, 4 * time.Hour, 110 * time.Minute, 4 * time.Hour}, // not the wait of the response before it
	} {
		w := hook(target.URL + c.path)
		w.Retry = Retry{Attempts: 3, Backoff: c.backoff, MaxBackoff: c.most}
		enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
		until(t, q, c.path+" failed", func(s Stats) bool { return s.Retried == int64(i+1) })
		list, _ := q.List(1)
		if wait := time.Until(list[0].Due); wait < c.from || wait > c.to {
			t.Errorf("%s with back-offs from %v to %v waits %v, want %v to %v", c.path, c.backoff, c.most, wait, c.from, c.to)
		}
		if err := q.Cancel(list[0].ID); err != nil {
			t.Fatal(err)
		}
	}
}
