package traffic

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/config/policy"
	"mockserver/internal/harness/volume"
)

// numbered returns the key with a number.
func numbered(n int) (key quotaKey) {
	binary.LittleEndian.PutUint64(key[:], uint64(n)*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(key[8:], uint64(n))
	return key
}

// reference is a limit for one key, implemented in the simplest way.
type reference struct {
	algorithm string
	max       int
	window    int64
	times     []int64 // times of the requests that were admitted
	start     int64   // start of the window
	tokens    float64
	filled    int64
}

// admit reports whether a request at now is admitted and, if not, when one would be.
func (l *reference) admit(now int64) (admitted bool, next int64) {
	switch l.algorithm {
	case "sliding-window":
		l.times = slices.DeleteFunc(l.times, func(at int64) bool { return at <= now-l.window })
		if len(l.times) == l.max {
			return false, l.times[0] + l.window
		}
		l.times = append(l.times, now)
	case "fixed-window":
		if len(l.times) == 0 || now >= l.start+l.window {
			l.start, l.times = now, nil
		}
		if len(l.times) == l.max {
			return false, l.start + l.window
		}
		l.times = append(l.times, now)
	default:
		if l.filled == 0 && l.tokens == 0 && l.times == nil {
			l.tokens, l.times = float64(l.max), []int64{}
		}
		l.tokens = min(l.tokens+float64(now-l.filled)*float64(l.max)/float64(l.window), float64(l.max))
		l.filled = now
		if l.tokens < 1-1e-9 {
			return false, now + int64((1-l.tokens)*float64(l.window)/float64(l.max))
		}
		l.tokens--
	}
	return true, 0
}

// Requests at random times are admitted exactly as by the reference.
func TestQuotas_AdmitAsAPlainComputationDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, algorithm := range policy.LimitAlgorithms {
		refused := 0
		for range 300 {
			most := 1 + random.IntN(20)
			window := 1 + random.Int64N(1000)
			q := newQuotas(algorithm, uint32(most), window)
			want := reference{algorithm: algorithm, max: most, window: window}
			now := int64(0)
			for range 300 {
				now += random.Int64N(1 + 2*window/int64(most))
				if random.IntN(50) == 0 {
					now += random.Int64N(5 * window)
				}
				v := q.count(numbered(1), now)
				admitted, next := want.admit(now)
				if v.admitted != admitted {
					t.Fatalf("%s of %d in %d: admitted at %d is %v, want %v", algorithm, most, window, now, v.admitted, admitted)
				}
				if !admitted {
					refused++
					if off := now + v.next - next; off < 0 || off > 1 {
						t.Fatalf("%s of %d in %d: at %d the next request would be admitted at %d, want %d", algorithm, most, window, now, now+v.next, next)
					}
				}
				if used := len(want.times); algorithm != "token-bucket" && int(v.remaining) != most-used {
					t.Fatalf("%s of %d in %d: %d remain, want %d", algorithm, most, window, v.remaining, most-used)
				}
				if v.full < 0 || v.full > window {
					t.Fatalf("%s of %d in %d: the quota is full in %d", algorithm, most, window, v.full)
				}
			}
		}
		if refused < 1000 || refused > 80_000 {
			t.Errorf("%s: %d of 90,000 were refused, too few for a test", algorithm, refused)
		}
	}
}

// However long the window is, no period of its length has more requests than the limit, and a slot
// becomes free at most a millionth of the window too late.
func TestQuotas_LongWindows(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for _, window := range []time.Duration{time.Millisecond, 2 * time.Second, 15 * time.Minute, 365 * 24 * time.Hour} {
		const most = 30
		q := newQuotas("sliding-window", most, int64(window))
		var admitted []int64
		for now, i := int64(0), 0; i < 5000; i++ {
			now += random.Int64N(int64(window) / most)
			if i%100 == 0 {
				now += random.Int64N(3 * int64(window))
			}
			if v := q.count(numbered(1), now); v.admitted {
				admitted = append(admitted, now)
			} else if due := admitted[len(admitted)-most] + int64(window); now > due+int64(window)/1e6 {
				t.Fatalf("%v: refused at %d, %d after a slot was free", window, now, now-due)
			}
		}
		for i := most; i < len(admitted); i++ {
			if admitted[i]-admitted[i-most] < int64(window) {
				t.Fatalf("%v: %d requests in %d", window, most+1, admitted[i]-admitted[i-most])
			}
		}
		if len(admitted) > 4500 {
			t.Errorf("%v: %d of 5000 were admitted, so nothing was tested", window, len(admitted))
		}
	}
}

// The largest limits are calculated without an overflow.
func TestQuotas_Extremes(t *testing.T) {
	for _, algorithm := range policy.LimitAlgorithms {
		for _, window := range []time.Duration{time.Nanosecond, 365 * 24 * time.Hour} {
			q := newQuotas(algorithm, 1_000_000_000, int64(window))
			if v := q.count(numbered(1), 5); !v.admitted || v.remaining != 999_999_999 || v.full < 1 || v.full > int64(window) {
				t.Errorf("%s in %v: got %+v", algorithm, window, v)
			}
			if v := q.count(numbered(1), 5+int64(window)); !v.admitted || v.remaining != 999_999_999 {
				t.Errorf("%s in %v, a window later: got %+v", algorithm, window, v)
			}
		}
	}
}

// A request that gets the lock late and has an earlier time counts with the latest time so far.
func TestQuotas_TimesThatGoBack(t *testing.T) {
	for _, algorithm := range policy.LimitAlgorithms {
		q := newQuotas(algorithm, 2, 100)
		for i, c := range []struct {
			now      int64
			admitted bool
		}{{1000, true}, {900, true}, {1099, algorithm == "token-bucket"}, {950, false}, {1100, true}, {0, algorithm != "token-bucket"}} {
			if v := q.count(numbered(1), c.now); v.admitted != c.admitted {
				t.Errorf("%s, request %d: got %v, want %v", algorithm, i, v.admitted, c.admitted)
			}
		}
	}
}

func TestQuotas_KeysAreApart(t *testing.T) {
	for _, algorithm := range policy.LimitAlgorithms {
		q := newQuotas(algorithm, 1, 1000)
		for round, want := range []bool{true, false} {
			for n := range 5000 {
				if v := q.count(numbered(n), 0); v.admitted != want || v.evicted > 0 {
					t.Fatalf("%s, round %d, key %d: got %+v, want admitted %v", algorithm, round, n, v, want)
				}
			}
		}
	}
}

// For one key, exactly as many requests are admitted as the limit says, whatever other keys do.
func TestQuotas_UnderConcurrentClients(t *testing.T) {
	for _, algorithm := range policy.LimitAlgorithms {
		q := newQuotas(algorithm, 1000, int64(time.Hour))
		var admitted [3]atomic.Int64
		var clients sync.WaitGroup
		for range 64 {
			clients.Go(func() {
				for i := range 300 {
					if key := i % len(admitted); q.count(numbered(key), 0).admitted {
						admitted[key].Add(1)
					}
				}
			})
		}
		clients.Wait()
		for key := range admitted {
			if got := admitted[key].Load(); got != 1000 {
				t.Errorf("%s, key %d: %d were admitted, want 1000", algorithm, key, got)
			}
		}
	}
}

// A million keys take about as much memory as docs/adr/0013 states.
func TestQuotas_AMillionKeys(t *testing.T) {
	volume.Only(t) // it needs hundreds of megabytes
	for _, c := range []struct {
		algorithm      string
		keys, requests int // requests is the number of requests per key
		most           float64
	}{
		{"sliding-window", 1_000_000, 1, 160}, {"sliding-window", 1_000_000, 8, 200}, {"sliding-window", 100_000, 100, 650},
		{"fixed-window", 1_000_000, 1, 128}, {"token-bucket", 1_000_000, 1, 128},
	} {
		keys := c.keys
		before := heapInUse()
		q := newQuotas(c.algorithm, policy.DefaultMaxRequests, int64(policy.DefaultWindow))
		evicted := 0
		for n := range keys {
			for range c.requests {
				evicted += q.count(numbered(n), int64(n)).evicted
			}
		}
		each := float64(heapInUse()-before) / float64(keys)
		t.Logf("%s, %d requests of each: %.0f bytes a key", c.algorithm, c.requests, each)
		if each > c.most || evicted > 0 {
			t.Errorf("%s: %.0f bytes a key and %d evicted, want at most %.0f and none", c.algorithm, each, evicted, c.most)
		}
		// Once the keys have expired, later requests release their memory.
		for n := range 100 * quotaShards {
			q.count(numbered(keys+n), int64(keys+n)+2*int64(policy.DefaultWindow))
		}
		if each := float64(heapInUse()-before) / float64(keys); each > 40 {
			t.Errorf("%s: %.0f bytes a key are left of the expired keys", c.algorithm, each)
		}
		runtime.KeepAlive(q)
	}
}

// Beyond the maximum number of keys, the key that has not been seen for the longest time starts
// over, and no other key does.
func TestQuotas_BeyondWhatIsKept(t *testing.T) {
	for _, algorithm := range policy.LimitAlgorithms {
		q := newQuotas(algorithm, 2, 1000)
		q.mostQuotas = 3
		same := func(n int) quotaKey { // returns keys that are all in one shard
			key := numbered(n)
			binary.LittleEndian.PutUint64(key[:], 0)
			return key
		}
		evicted := 0
		for _, n := range []int{1, 2, 3, 1, 4, 5} { // key 1 is seen again
			evicted += q.count(same(n), int64(n)).evicted
		}
		if evicted != 2 {
			t.Errorf("%s: %d were evicted, want 2", algorithm, evicted)
		}
		// A request does not restart its fixed window.
		kept, gone := []int{1, 4, 5}, []int{2}
		if algorithm == "fixed-window" {
			kept, gone = []int{3, 4, 5}, []int{1}
		}
		for _, n := range kept {
			if _, known := q.shards[0].index[same(n)]; !known {
				t.Errorf("%s: %d was evicted", algorithm, n)
			}
		}
		for _, n := range gone {
			if _, known := q.shards[0].index[same(n)]; known {
				t.Errorf("%s: %d is kept", algorithm, n)
			}
		}
	}
}

// The logs of all keys together are also bounded.
func TestQuotas_BeyondTheLogsThatAreKept(t *testing.T) {
	q := newQuotas("sliding-window", 100, 1000)
	q.mostChunks = 50
	evicted := 0
	for n := range 30 {
		for range 100 {
			v := q.count(quotaKey{8: byte(n)}, int64(n))
			evicted += v.evicted
			if held := q.held.Load(); held > q.mostChunks {
				t.Fatalf("%d chunks are held, want at most %d", held, q.mostChunks)
			}
		}
	}
	if evicted == 0 || evicted > 29 {
		t.Errorf("%d keys were evicted of 30", evicted)
	}
	if v := q.count(quotaKey{8: 29}, 29); v.admitted {
		t.Error("the key that was seen last has started over")
	}
}

// The number of chunks in use matches the logs, whatever keys were added and have expired.
func TestQuotas_GiveBackWhatTheyTook(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for _, algorithm := range policy.LimitAlgorithms {
		q := newQuotas(algorithm, 40, 1000)
		q.mostQuotas, q.mostChunks = 20, 300
		for now, i := int64(0), 0; i < 50_000; i++ {
			now += random.Int64N(20)
			if i%1000 == 0 {
				now += 3000
			}
			q.count(numbered(random.IntN(1000)), now)
		}
		held := 0
		for i := range q.shards {
			s := &q.shards[i]
			in, last := 0, int64(0)
			for id, before := s.first, uint32(0); id != 0; id = s.quotas.get(id).newer {
				u := s.quotas.get(id)
				if u.older != before || u.last < last || s.index[u.key] != id {
					t.Fatalf("%s: the quotas of shard %d are not in order", algorithm, i)
				}
				stamps := 0
				for c := u.head; c != 0; c = s.chunks.get(c).next {
					held++
					stamps += chunkStamps
				}
				if used := stamps - int(u.begin) - (chunkStamps - int(u.end)); u.head != 0 && used != int(u.count) {
					t.Fatalf("%s: a log has %d stamps and says %d", algorithm, used, u.count)
				}
				before, last = id, u.last
				in++
			}
			if in != len(s.index) || in > q.mostQuotas || s.quotas.used-len(s.quotas.free) != in {
				t.Errorf("%s: shard %d has %d in order, %d by key, %d taken", algorithm, i, in, len(s.index), s.quotas.used-len(s.quotas.free))
			}
		}
		if got := int(q.held.Load()); got != held {
			t.Errorf("%s: %d chunks are held, %d are counted", algorithm, held, got)
		}
	}
}

func BenchmarkQuotas(b *testing.B) {
	for _, algorithm := range policy.LimitAlgorithms {
		for _, keys := range []int{1, 1_000_000} {
			b.Run(fmt.Sprint(algorithm, "/keys=", keys), func(b *testing.B) {
				q := newQuotas(algorithm, 100, int64(time.Minute))
				for n := range b.N {
					q.count(numbered(n%keys), int64(n)*1000)
				}
			})
		}
	}
}

// heapInUse returns how many bytes are reachable. The result is signed because the difference
// between two readings may be negative: memory left by earlier tests may be freed in between.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Tokens are taken only if all are there, say when they will be, and are given back up to the limit.
func TestQuotas_Take(t *testing.T) {
	q := newQuotas("token-bucket", 10, 1000) // a token in 100
	for i, c := range []struct {
		now       int64
		n         int
		admitted  bool
		remaining uint32
		next      int64
	}{
		{0, 8, true, 2, 0}, {0, 3, false, 2, 100}, {50, 3, false, 2, 50}, {100, 3, true, 0, 0}, {100, -2, true, 2, 0}, {100, 20, false, 2, 800},
		{100, -50, true, 10, 0}, {100, 20, false, 10, 0}, {100, 10, true, 0, 0},
	} {
		if v := q.take(numbered(1), c.now, c.n); v.admitted != c.admitted || v.remaining != c.remaining || v.next != c.next {
			t.Errorf("%d: got %+v, want %+v", i, v, c)
		}
	}
}
