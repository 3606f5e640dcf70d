package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"mockserver/dispatcher/outbox"
	"mockserver/internal/natsclient"
)

func TestParse(t *testing.T) {
	at, err := Parse("tls://ann:pw@a.test:4222,[::1]:4223?stream=S-1&replicas=1&lease=5s&fallback=memory&creds=c&ca=f&cert=g&key=h")
	want := Location{
		Servers: natsclient.Servers{
			What: "the webhook store", URLs: []string{"tls://ann:pw@a.test:4222", "tls://ann:pw@[::1]:4223"}, Creds: "c", CA: "f", Cert: "g", Key: "h",
			Stream: "S-1", Replicas: 1,
		},
		Lease: 5 * time.Second, Fallback: true,
	}
	if err != nil || !reflect.DeepEqual(at, want) {
		t.Errorf("got %+v, %v", at, err)
	}
	if text := at.String(); text != "tls://a.test:4222,[::1]:4223?stream=S-1" {
		t.Errorf("it is shown as %s", text)
	}
	if at, err := Parse("nats://a"); err != nil || at.Stream != "MOCK_WEBHOOKS" || at.Lease != 10*time.Second || at.URLs[0] != "nats://a" {
		t.Errorf("by default %+v, %v", at, err)
	}
	for text, want := range map[string]string{
		"nats://":                           `"" is not a server`,
		"nats://a,,b":                       `"" is not a server`,
		"nats://a/b":                        `"a/b" is not a server`,
		"nats://a:x":                        `"a:x" is not a server`,
		"nats://a:70000":                    "invalid port",
		"nats://u:%zz@a":                    "user or password",
		"nats://hid:hidden?@a":              "more than one @, or one after",
		"nats://hid:hidden/@a":              "more than one @, or one after",
		"nats://hid:hidden#@a":              "more than one @, or one after",
		"nats://u:p@a,hid:hidden@b":         "more than one @, or one after",
		"nats://a?creds=hidden@b":           "more than one @, or one after",
		"nats://a?stream=a.b":               `"a.b" is not valid for stream of the webhook store; expected up to 64 letters`,
		"nats://a?replicas=2":               "1, 3 or 5",
		"nats://a?lease=1ms":                "a duration from 2s to 10m0s",
		"nats://a?fallback=disk":            "expected memory",
		"nats://a?ca=":                      "a file name",
		"nats://a?cert=c":                   "only one of cert and key",
		"nats://a?streem=x":                 `unknown parameter "streem"`,
		"nats://a?a=%zz":                    "parameters of the webhook store are not valid",
		"nats://hidden:hidden@a:x?stream=S": "not a server",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestRecords_AreReadBack(t *testing.T) {
	due := time.Unix(1, 5)
	entries := []*outbox.Entry{
		{Due: due, Depth: 2, Webhook: []byte("one"), Parts: []byte("a")},
		{Due: due, Webhook: []byte("two"), Parts: []byte{}},
		{Due: due, Webhook: []byte("one"), Parts: []byte("c")},
	}
	message := appendRecords(nil, 7, entries)
	if n := strings.Count(string(message), "one"); n != 1 {
		t.Errorf("a webhook is written %d times, want once", n)
	}
	key, got, err := readRecords(message)
	if err != nil || key != 7 || len(got) != 3 {
		t.Fatalf("%d, %+v, %v", key, got, err)
	}
	for i, e := range got {
		w := *entries[i]
		if w.ID = 7<<6 | uint64(i); !reflect.DeepEqual(e, w) {
			t.Errorf("entry %d is %+v, want %+v", i, e, w)
		}
	}
	open := map[uint64]uint64{}
	for _, n := range []note{{7, 0b101}, {7, 0b111}, {8, 0}} { // finished entries stay finished
		if err := readNotes(appendNotes(nil, []note{n}), open); err != nil {
			t.Fatal(err)
		}
	}
	if open[7] != 0b101 || len(pick(got, open[7])) != 2 {
		t.Errorf("open are %b", open[7])
	}
}

func FuzzReadRecords(f *testing.F) {
	f.Add(appendRecords(nil, 1, []*outbox.Entry{{Due: time.Unix(1, 0), Webhook: []byte("w"), Parts: []byte("p")}}))
	f.Add(appendNotes(nil, []note{{1, 2}}))
	f.Fuzz(func(t *testing.T, from []byte) {
		_ = readNotes(from, map[uint64]uint64{})
		key, entries, err := readRecords(from)
		if err != nil {
			return
		}
		again := make([]*outbox.Entry, len(entries))
		for i := range entries {
			again[i] = &entries[i]
		}
		if k, got, err := readRecords(appendRecords(nil, key, again)); err != nil || k != key || !reflect.DeepEqual(got, entries) {
			t.Errorf("written again: %d, %+v, %v", k, got, err)
		}
	})
}

// taken collects the entries that a store passes on.
type taken struct {
	mu      sync.Mutex
	entries map[string][]uint64 // the IDs of each text
}

func (c *taken) take(all []outbox.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string][]uint64{}
	}
	for _, e := range all {
		c.entries[string(e.Parts)] = append(c.entries[string(e.Parts)], e.ID)
	}
}

func (c *taken) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// storeAll stores n entries at the same time, so that they form batches, and returns their IDs.
func storeAll(t testing.TB, s *Stream, n int) map[string]uint64 {
	t.Helper()
	var mu sync.Mutex
	var storing sync.WaitGroup
	ids := map[string]uint64{}
	for i := range n {
		storing.Go(func() {
			e := outbox.Entry{Due: time.Now(), Webhook: []byte("webhook"), Parts: fmt.Append(nil, i)}
			if err := s.Store(&e); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[string(e.Parts)] = e.ID
		})
	}
	storing.Wait()
	return ids
}

// The entries that a crashed store leaves are adopted once, with the same IDs, except for those
// noted as done.
func TestStream_AdoptsWhatIsNotDone(t *testing.T) {
	t.Parallel()
	at := location(t, brief)
	first := opened(t, at)
	first.Recover(func([]outbox.Entry) { t.Error("there is nothing to recover") })
	ids := storeAll(t, first, 300)
	if info, err := first.stream.Info(t.Context()); err != nil || info.State.Msgs >= 300 || info.Config.Replicas != 3 {
		t.Errorf("%v: %d messages of %d replicas, want fewer than entries, and 3", err, info.State.Msgs, info.Config.Replicas)
	}
	var done []string
	for text, id := range ids {
		if len(done) < 150 {
			first.Done(id)
			first.Done(id) // a second call has no effect
			done = append(done, text)
		}
	}
	first.flush(t.Context())
	first.deleteDone(t.Context())
	first.crash()
	if first.Store(&outbox.Entry{}) == nil {
		t.Error("a store without its server accepts an entry")
	}
	var got taken
	second, third := opened(t, at), opened(t, at)
	second.Recover(got.take)
	third.Recover(got.take)
	until(t, "all unfinished entries are adopted", func() bool { return got.count() >= 150 })
	for text, id := range ids {
		want := []uint64{id}
		if slices.Contains(done, text) {
			want = nil
		}
		if !slices.Equal(got.entries[text], want) {
			t.Errorf("%s was adopted as %v, want %v", text, got.entries[text], want)
		}
		if want != nil && second.Holds(id) == third.Holds(id) {
			t.Errorf("%s is held by both or by neither", text)
		}
		second.Done(id)
		third.Done(id)
	}
	until(t, "the stream is empty", func() bool {
		info, err := second.stream.Info(t.Context())
		return err == nil && info.State.Msgs == 0
	})
	until(t, "its lease has ended", func() bool { return len(second.holding()) == 1 && len(third.holding()) == 1 })
}

// An entry that was refused because its message was not acknowledged is deleted if the server has
// it, however late it arrives there.
func TestStream_SweepsWhatItRefused(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	s.Recover(func([]outbox.Entry) {})
	kept := storeAll(t, s, 1)["0"]
	s.mu.Lock()
	subject := s.subject(s.own.name, "log")
	s.own.doubted = true
	s.mu.Unlock()
	if _, err := s.js.Publish(t.Context(), subject, appendRecords(nil, 1, []*outbox.Entry{{Due: time.Now(), Webhook: []byte("w")}})); err != nil {
		t.Fatal(err)
	}
	until(t, "only the other message is left", func() bool {
		info, err := s.stream.Info(t.Context())
		return err == nil && info.State.Msgs == 1 && info.State.NumDeleted+int(info.State.LastSeq) >= 2
	})
	if !s.Holds(kept) {
		t.Error("the accepted entry is gone")
	}
}

// Entries that wait behind unacknowledged messages are refused instead of being kept waiting for
// their turn.
func TestStream_RefusesWhatHasWaitedTooLong(t *testing.T) {
	t.Parallel()
	now := time.Now()
	made := func(since time.Time) *request {
		return &request{entry: &outbox.Entry{}, since: since, stored: make(chan error, 1)}
	}
	old, young, last := made(now.Add(-time.Hour)), made(now.Add(time.Hour)), made(now.Add(time.Hour))
	s := &Stream{began: now, nc: &nats.Conn{}, closed: true, waiting: []*request{old, young}}
	s.until.Store(math.MaxInt64)
	if got := s.gather(); len(got) != 1 || got[0] != young || len(old.stored) != 1 || <-old.stored != ErrAway {
		t.Errorf("%d requests are published, want only the recent one", len(got))
	}
	s.waiting = []*request{last}
	s.until.Store(0)
	if got := s.gather(); got != nil || len(last.stored) != 1 || <-last.stored != ErrAway {
		t.Errorf("without a lease %d requests are published", len(got))
	}
}

func TestStream_RefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	for _, size := range []int{2 << 20, 1<<20 - headroom} {
		err := s.Store(&outbox.Entry{Parts: make([]byte, size)})
		if err == nil || !strings.Contains(err.Error(), "too large for the webhook store, whose messages have up to 1048576 bytes") {
			t.Error(err)
		}
	}
	if err := s.Store(&outbox.Entry{Parts: make([]byte, 1<<20-headroom-overhead)}); err != nil {
		t.Errorf("the largest one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Store(&outbox.Entry{}); !errors.Is(err, outbox.ErrClosed) && !errors.Is(err, ErrAway) {
		t.Errorf("a closed store: %v", err)
	}
}

func TestOpen_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	at, err := Parse("nats://ann:hidden@" + servers(t) + "?stream=OTHER&replicas=5")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(at, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "the stream OTHER: ") || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}
