package state_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/listener/memory/state"
)

// million is the number of rows in the benchmarks, each of about 236 bytes.
const million = 1_000_000

func key(i int) []byte { return fmt.Appendf(nil, "user-%08d", i) }

func text(i int) []byte {
	return fmt.Appendf(nil, `{"id":"user-%08d","email":"user%d@example.com","country":"%c%c","created":"2026-%02d-%02dT10:%02d:%02d.000Z",`+
		`"name":"Somebody Somewhere","address":{"street":"Main Street %d","city":"Springfield","zip":"12345"},"vip":false,"balance":%d.50}`,
		i, i, 'A'+i%26, 'A'+i/26%26, 1+i%12, 1+i%28, i%60, i/60%60, i, i%10000)
}

// field returns a member whose value is the quoted text after the given name.
func field(name string) *state.Member {
	mark := []byte(`"` + name + `":"`)
	return &state.Member{Name: name, Value: func(row, to []byte) []byte {
		_, rest, _ := bytes.Cut(row, mark)
		value, _, _ := bytes.Cut(rest, []byte(`"`))
		return append(to, value...)
	}}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func big(b *testing.B, members ...*state.Member) (*state.Store, *state.Set, []*state.Member) {
	b.Helper()
	before, began := heap(), time.Now()
	var builder state.Builder
	size := 0
	for i := range million {
		row := text(i)
		size += len(row)
		if err := builder.Add(key(i), row); err != nil {
			b.Fatal(err)
		}
	}
	store := state.New(0)
	set := add(store, "users", state.Options{}, builder.Base(members))
	b.Logf("%d rows of %d bytes in %v; %d bytes a row in addition to the text, with %d members", million, size/million,
		time.Since(began).Round(time.Millisecond), (int(heap()-before)-size)/million, len(members))
	return store, set, members
}

func BenchmarkGet(b *testing.B) {
	store, set, _ := big(b)
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, million-1)
	for name, next := range map[string]func() int{"random": func() int { return random.IntN(million) }, "zipf": func() int { return int(zipf.Uint64()) }} {
		b.Run(name, func(b *testing.B) {
			keys := make([][]byte, 1<<20)
			for i := range keys {
				keys[i] = key(next())
			}
			var tx state.Tx
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tx.Begin(store)
				if !tx.Get(set, nil, keys[i&(len(keys)-1)]).Found() {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{0, 2} {
		store, set, _ := big(b, []*state.Member{field("email"), field("created")}[:n]...)
		random := rand.New(rand.NewPCG(1, 2))
		var tx state.Tx
		b.Run(fmt.Sprint("insert/members=", n), func(b *testing.B) {
			set.Reset(nil)
			b.ReportAllocs()
			for i := million; b.Loop(); i++ {
				tx.Begin(store)
				k := key(i)
				tx.Get(set, nil, k)
				tx.Put(set, nil, k, text(i), nil)
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("put/members=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tx.Begin(store)
				i := random.IntN(million)
				k := key(i)
				tx.Get(set, nil, k)
				tx.Put(set, nil, k, text(i), nil)
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPage(b *testing.B) {
	store, set, _ := big(b, field("created"), field("country"))
	var tx state.Tx
	for _, changes := range []int{0, 100_000} {
		for i := range changes {
			tx.Begin(store)
			tx.Put(set, nil, key(i*7), text(i*7+1), nil)
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
		}
		for _, offset := range []int{0, 500_000} {
			b.Run(fmt.Sprintf("inserted/changes=%d/offset=%d", changes, offset), func(b *testing.B) {
				for b.Loop() {
					tx.Begin(store)
					set.All(nil).Each(offset, 1, twenty())
				}
			})
			b.Run(fmt.Sprintf("created/changes=%d/offset=%d", changes, offset), func(b *testing.B) {
				for b.Loop() {
					tx.Begin(store)
					tx.Within(set, nil, field("created"), state.Bound{}, state.Bound{}).Each(offset, 1, twenty())
				}
			})
		}
		b.Run(fmt.Sprintf("country/changes=%d", changes), func(b *testing.B) {
			at := state.Bound{Value: []byte("DE")}
			for b.Loop() {
				tx.Begin(store)
				if !tx.Within(set, nil, field("country"), at, at).At(700).Found() {
					b.Fatal("not found")
				}
			}
		})
	}
}

func twenty() func(state.Row) bool {
	n := 0
	return func(state.Row) bool { n++; return n < 20 }
}

// BenchmarkSnapshot measures the cost of a snapshot and of a reset of a million changes.
func BenchmarkSnapshot(b *testing.B) {
	store, set, _ := big(b)
	var tx state.Tx
	before := heap()
	size := 0
	for i := range million {
		tx.Begin(store)
		row := text(i + million)
		size += len(row)
		tx.Put(set, nil, key(i), row, nil)
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("a million changes: %d bytes each in addition to their text; counted %d", (int(heap()-before)-size)/million, (int(set.Figures().Bytes)-size)/million)
	var kept *state.Snapshot
	for b.Loop() {
		kept = store.Snapshot()
		set.Reset(nil)
		store.Restore(kept)
	}
}

// BenchmarkParts measures the memory of 100,000 isolated parts, with changes to rows of the base,
// inserted rows, or rows that were taken.
func BenchmarkParts(b *testing.B) {
	store, set, _ := big(b)
	for _, kind := range []string{"changed", "inserted", "taken"} {
		for _, n := range []int{1, 10} {
			b.Run(fmt.Sprintf("%s=%d", kind, n), func(b *testing.B) {
				set.Reset(nil)
				random := rand.New(rand.NewPCG(1, 2))
				before, size := heap(), 0
				var tx state.Tx
				for i := range 100_000 * n {
					part, row := fmt.Appendf(nil, "vu-%d", i/n), random.IntN(million)
					tx.Begin(store)
					switch kind {
					case "taken":
						r, _ := tx.Once(set, part, nil, nil)
						tx.Take(set, part, r)
					case "inserted":
						row += million
						fallthrough
					default:
						size += len(text(row))
						tx.Put(set, part, key(row), text(row), nil)
					}
					if err := tx.Commit(); err != nil {
						b.Fatal(err)
					}
				}
				b.Logf("%d MB; %d bytes a part in addition to the texts, counted %d", (heap()-before)>>20,
					(int(heap()-before)-size)/100_000, (int(set.Figures().Bytes)-size)/100_000)
				for b.Loop() {
					store.Snapshot()
				}
			})
		}
	}
}

// BenchmarkHotRow compares clients that all add to one row with clients that each have a row of
// their own. A transaction that conflicts is repeated, and nothing that was added is lost.
func BenchmarkHotRow(b *testing.B) {
	for name, spread := range map[string]int{"own": 64, "one": 1} {
		b.Run(name, func(b *testing.B) {
			store := state.New(0)
			set := add(store, "n", state.Options{}, baseOf(b))
			var clients atomic.Int64
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				own := key(int(clients.Add(1)) % spread)
				var tx state.Tx
				for pb.Next() {
					for err := state.ErrConflict; err != nil; err = tx.Commit() {
						tx.Begin(store)
						n, _ := strconv.Atoi(string(tx.Get(set, nil, own).JSON)) // 0 before the first addition
						tx.Put(set, nil, own, strconv.AppendInt(nil, int64(n+1), 10), nil)
					}
				}
			})
			sum := 0
			for i := range spread {
				n, _ := strconv.Atoi(string(set.Get(nil, key(i)).JSON))
				sum += n
			}
			if sum != b.N {
				b.Errorf("%d were added, the rows say %d", b.N, sum)
			}
			b.ReportMetric(float64(set.Figures().Conflicts)/float64(b.N), "conflicts/op")
		})
	}
}
