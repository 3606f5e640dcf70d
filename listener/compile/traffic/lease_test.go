package traffic

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"mockserver/config/policy"
	"mockserver/internal/harness"
	"mockserver/listener/memory/shared"
)

// A shared value counts requests in the same way as the quota of a single replica.
func TestSharedQuotas_CountAsThoseOfOneReplica(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, algorithm := range policy.LimitAlgorithms[1:] {
		for range 200 {
			most, window := 1+random.Int64N(20), 1+random.Int64N(1000)
			q, own := newSharedQuotas(nil, algorithm, most, window), newQuotas(algorithm, uint32(most), window)
			var v shared.Value
			now := int64(1_000_000)
			for range 100 {
				now += random.Int64N(1 + 3*window/most)
				want := own.count(quotaKey{}, now)
				v = q.at(v, now)
				admitted := q.left(v) > 0
				next := v[valueAt] + q.window - now
				if q.isBucket() {
					next = q.untilToken(v)
				}
				if admitted && q.isBucket() {
					v[valueCount]--
				} else if admitted {
					v[valueCount]++
				}
				if admitted != want.admitted || q.left(v) != int64(want.remaining) || !admitted && next != want.next {
					t.Fatalf("%s, %d in %d: admitted %v, left %d, next %d; want %+v", algorithm, most, window, admitted, q.left(v), next, want)
				}
				if q.isBucket() && (q.untilFull(v) > want.full || q.untilFull(v) < want.full-1) {
					t.Fatalf("%d in %d: full in %d, want %d or one less", most, window, q.untilFull(v), want.full)
				}
			}
		}
	}
}

// After the clock of a replica was set back, a key that is used up is refused for a window at most.
func TestSharedQuotas_TheClockIsSetBack(t *testing.T) {
	addresses, stop := harness.NATS(t)
	defer stop()
	at, err := shared.Parse("nats://" + addresses + "?timeout=10s")
	if err != nil {
		t.Fatal(err)
	}
	state, err := shared.Open(at, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	const window, start = int64(time.Minute), 1_700_000_000_000_000_000
	for i, algorithm := range policy.LimitAlgorithms[1:] {
		q, other := newSharedQuotas(state, algorithm, 2, window), newSharedQuotas(state, algorithm, 2, window)
		for k, c := range []struct {
			q        *sharedQuotas
			now      int64
			admitted bool
		}{
			{q, start, true}, {q, start, true}, {q, start, false},
			{q, start - int64(time.Hour), false}, {other, start - int64(time.Hour) + window/4, false},
			{q, start - int64(time.Hour) + window + window/4, true},
		} {
			if v := c.q.count(quotaKey{byte(i)}, c.now); v.admitted != c.admitted || v.next > window {
				t.Errorf("%s, request %d: %+v, want %t", algorithm, k, v, c.admitted)
			}
		}
		if n := state.Local(); n != 0 {
			t.Errorf("%d requests were counted without the servers", n)
		}
	}
}

// Values written by another program do no harm.
func TestSharedQuotas_AnyValue(t *testing.T) {
	numbers := []int64{math.MinInt64, -1, 0, 1, 5, 1_000_000_000, math.MaxInt64}
	for _, algorithm := range policy.LimitAlgorithms[1:] {
		for _, most := range []int64{1, 1_000_000_000} {
			for _, window := range []int64{1, 2, 365 * 24 * 3600 * 1_000_000_000} {
				q := newSharedQuotas(nil, algorithm, most, window)
				for _, at := range numbers {
					for _, count := range numbers {
						for _, rest := range numbers {
							v := q.at(shared.Value{at, count, rest}, 1_700_000_000_000_000_000)
							if left := q.left(v); left < 0 || left > most || q.untilToken(v) < 0 || q.untilFull(v) < 0 {
								t.Fatalf("%s, %d in %d: %v leaves %d", algorithm, most, window, v, left)
							}
						}
					}
				}
			}
		}
	}
}
