package dispatcher

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/dispatcher/outbox"
)

// inDirectory opens the store of a directory; "" means no store.
func inDirectory(dir string) func(*slog.Logger) (Store, error) {
	if dir == "" {
		return nil
	}
	return func(log *slog.Logger) (Store, error) {
		o, _, err := outbox.Open(dir, log)
		return o, err
	}
}

// reluctant is a store that lets attempts begin and takes entries only if told to.
type reluctant struct {
	begin, away atomic.Bool
	asked, once atomic.Int64  // calls to MayBegin, and the number of the call that returns true anyway
	gone        atomic.Uint64 // the entry that another process holds
	last        atomic.Uint64 // ID of the last entry
	done        atomic.Int64
}

func (*reluctant) Recover(func([]outbox.Entry)) {}
func (r *reluctant) Done(id uint64) {
	if id != 0 {
		r.done.Add(1)
	}
}
func (r *reluctant) MayBegin() bool       { return r.asked.Add(1) == r.once.Load() || r.begin.Load() }
func (r *reluctant) Holds(id uint64) bool { return id != r.gone.Load() }
func (*reluctant) Lost() int64            { return 0 }
func (*reluctant) Close() error           { return nil }
func (r *reluctant) Store(e *outbox.Entry) error {
	e.ID = r.last.Add(1) // even if it does not know whether it has stored the entry
	if r.away.Load() {
		return errors.New("away")
	}
	return nil
}

// Deliveries wait while the store lets no attempt begin, and are dropped if another process holds
// them. Deliveries that the store refused are sent while the others wait.
func TestQueue_AsksTheStoreBeforeItSends(t *testing.T) {
	var unkeyed atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get(KeyHeader), "000000000000000") {
			unkeyed.Add(1)
		}
	}))
	defer target.Close()
	store := new(reluctant)
	q := opened(t, Options{Store: func(*slog.Logger) (Store, error) { return store, nil }, Fallback: true})
	w := hook(target.URL)
	for range 3 {
		enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
	}
	store.gone.Store(2)
	until(t, q, "they are due", func(s Stats) bool { return s.Due == 3 })
	store.away.Store(true)
	enqueue(q, NewDelivery(w, 0, 1, Parts{}), time.Now())
	s := until(t, q, "what is in memory alone is delivered", func(s Stats) bool { return s.Delivered == 1 })
	if s.Due != 3 || s.Unstored != 1 || s.Refused != 0 {
		t.Errorf("due %d, unstored %d, refused %d; want 3, 1, 0", s.Due, s.Unstored, s.Refused)
	}
	list, _ := q.List(1)
	if err := q.Cancel(list[0].ID); err != nil {
		t.Fatal(err)
	}
	store.begin.Store(true)
	s = until(t, q, "nothing is pending", func(s Stats) bool { return s.Pending == 0 && s.Due == 0 && s.InFlight == 0 })
	if s.Delivered+s.Kept != 3 || s.Cancelled != 1 || s.Kept+store.done.Load() != 3 {
		t.Errorf("delivered %d, cancelled %d, kept %d, done %d; want one cancelled, and one kept unless it is the same one",
			s.Delivered, s.Cancelled, s.Kept, store.done.Load())
	}
	if unkeyed.Load() > 0 {
		t.Errorf("%d came without their key", unkeyed.Load())
	}
}

// A delivery whose lease ends while its connection is being established is not written, and does
// not delay the end of the queue. Deliveries that exist only in memory are then abandoned, not
// kept.
func TestQueue_KeepsWhatMayNotBeSent(t *testing.T) {
	var sent atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer target.Close()
	store := new(reluctant)
	store.once.Store(1)
	q := opened(t, Options{Store: func(*slog.Logger) (Store, error) { return store, nil }, Fallback: true})
	enqueue(q, NewDelivery(hook(target.URL), 0, 1, Parts{}), time.Now())
	until(t, q, "it is due again", func(s Stats) bool { return store.asked.Load() > 1 && s.Due == 1 && s.InFlight == 0 })
	store.away.Store(true)
	enqueue(q, NewDelivery(hook(target.URL), time.Hour, 1, Parts{}), time.Now())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := q.Close(ctx)
	if err != nil || ctx.Err() != nil || sent.Load() != 0 || s.Kept != 1 || s.Abandoned != 1 || s.Dead+s.Retried+s.Delivered != 0 {
		t.Errorf("%v, %v: %d were sent, %d kept, %d abandoned; want 0, 1, 1, before the end of the context", err, ctx.Err(), sent.Load(), s.Kept, s.Abandoned)
	}
}

func TestWebhook_IsReadBackFromTheStore(t *testing.T) {
	w := &Webhook{
		Name: "name", Method: "POST", URL: "http://a.test/", Header: []byte("A: b\r\n"), Body: []byte("{}"),
		Timeout: time.Second, Retry: Retry{Attempts: 3, Backoff: time.Second, MaxBackoff: time.Minute},
	}
	for range 2 {
		if got, err := readWebhook(appendWebhook(nil, w)); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("%+v, %v, want %+v", got, err, w)
		}
		w.Sign = &Signature{Secret: "s", Header: "X-S", Scheme: Stripe}
	}
	old, err := hex.DecodeString("036f6c6404504f53540e687474703a2f2f612e746573742f00027b7d8094ebdc03028094ebdc0380b09dc2df01017303582d5306737472697065")
	if err != nil {
		t.Fatal(err)
	}
	if w, err := readWebhook(old); err != nil || w.Name != "old" || w.URL != "http://a.test/" || w.Sign.Scheme != "stripe" {
		t.Errorf("a webhook as an older version stored it: %+v, %v", w, err)
	}
}

func FuzzReadWebhook(f *testing.F) {
	f.Add(appendWebhook(nil, &Webhook{Name: "name", Sign: &Signature{Scheme: HMACSHA256}}))
	f.Fuzz(func(t *testing.T, from []byte) {
		w, err := readWebhook(from)
		if err != nil {
			return
		}
		if again, err := readWebhook(appendWebhook(nil, w)); err != nil || again.Name != w.Name {
			t.Errorf("stored again: %+v, %v, want %+v", again, err, w)
		}
	})
}
