package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// model is a reference implementation of a wheel, based on a list that is searched.
type model struct {
	now     int64
	entries []modelEntry // in the order they were added
}

type modelEntry struct {
	tick  int64
	entry uint32
}

func (m *model) add(tick int64, entry uint32) {
	m.entries = append(m.entries, modelEntry{max(tick, 1), entry})
}

func (m *model) cancel(entry uint32) bool {
	before := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(e modelEntry) bool { return e.entry == entry })
	return len(m.entries) < before
}

// Take removes and returns everything that is due at now.
func (m *model) take(now int64) []modelEntry {
	m.now = max(m.now, now)
	var due, rest []modelEntry
	for _, e := range m.entries {
		if e.tick <= m.now {
			due = append(due, e)
		} else {
			rest = append(rest, e)
		}
	}
	m.entries = rest
	return due
}

func (m *model) first() int64 {
	first := int64(math.MaxInt64)
	for _, e := range m.entries {
		first = min(first, e.tick)
	}
	return first
}

// drain removes everything that is due at now from a wheel, a few entries per step.
func drain(t *testing.T, w *Wheel, now int64, budget int) []uint32 {
	t.Helper()
	var out []uint32
	for steps := 0; ; steps++ {
		done := w.Advance(now, budget)
		for e := w.Take(); e != 0; e = w.Take() {
			out = append(out, e)
		}
		if done {
			return out
		}
		if steps > 1_000_000 {
			t.Fatal("advance does not return")
		}
	}
}

func TestWheel_Cases(t *testing.T) {
	day := int64(86_400_000)
	cases := []struct {
		name  string
		start int64
		ticks []int64 // of entries 1, 2, 3 …
		now   int64
		due   []uint32
	}{
		{"nothing", 0, nil, 1000, nil},
		{"past is due at once", 500, []int64{3, 500}, 500, []uint32{1, 2}},
		{"below the first tick", 0, []int64{-7, 0}, 1, []uint32{1, 2}},
		{"not before its tick", 0, []int64{10}, 9, nil},
		{"at its tick", 0, []int64{10}, 10, []uint32{1}},
		{"order of ticks, not of adding", 0, []int64{30, 20, 10}, 30, []uint32{3, 2, 1}},
		{"order of adding within a tick", 0, []int64{70, 70, 70}, 70, []uint32{1, 2, 3}},
		{"each side of a slot of 64", 0, []int64{64, 63, 65}, 64, []uint32{2, 1}},
		{"each side of a slot of 4096", 4000, []int64{4097, 4096, 4095}, 4096, []uint32{3, 2}},
		{"across a carry of every digit", 1<<36 - 1, []int64{1 << 36, 1<<36 + 1}, 1 << 36, []uint32{1}},
		{"far apart", 0, []int64{day, 1, 365 * day}, day, []uint32{2, 1}},
		{"the last tick there is", 0, []int64{math.MaxInt64, math.MaxInt64 - 1}, math.MaxInt64, []uint32{2, 1}},
		{"one step over everything", 0, []int64{5, 64, 4096, 262144, 1 << 30}, 1 << 40, []uint32{1, 2, 3, 4, 5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, budget := range []int{1, 2, 1000} {
				var w Wheel
				drain(t, &w, c.start, budget)
				for i, tick := range c.ticks {
					w.Add(tick, uint32(i+1))
				}
				if got := drain(t, &w, c.now, budget); !slices.Equal(got, c.due) {
					t.Errorf("budget %d: due %v, want %v", budget, got, c.due)
				}
				if want := len(c.ticks) - len(c.due); w.size() != want {
					t.Errorf("budget %d: %d left, want %d", budget, w.size(), want)
				}
			}
		})
	}
}

func TestWheel_CancelsWhatItHolds(t *testing.T) {
	var w Wheel
	for _, entry := range []uint32{0, 1, 1 << 20} {
		if w.Cancel(entry) {
			t.Errorf("cancelled %d, which was never added", entry)
		}
	}
	for i := uint32(1); i <= 5; i++ {
		w.Add(100, i)
	}
	for _, entry := range []uint32{1, 5, 3} { // the first one, the last one, and one in between
		if !w.Cancel(entry) || w.Cancel(entry) {
			t.Errorf("entry %d is to be cancelled once", entry)
		}
	}
	if got := drain(t, &w, 100, 10); !slices.Equal(got, []uint32{2, 4}) {
		t.Errorf("due %v, want 2 and 4", got)
	}
	if w.Cancel(2) || w.size() != 0 {
		t.Errorf("a taken entry is no longer on the wheel; size %d", w.size())
	}
}

// operations runs random operations on a wheel and its model, and compares which entries fall due,
// how many are left, and the results of next.
func operations(t *testing.T, r *rand.Rand, count int) {
	t.Helper()
	var w Wheel
	var m model
	spans := []int64{1, 10, 64, 100, 4096, 5000, 1 << 18, 1 << 30, 1 << 50}
	free := uint32(1)
	for range count {
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			tick := m.now - 2 + r.Int64N(spans[r.IntN(len(spans))]+3)
			w.Add(tick, free)
			m.add(tick, free)
			free++
		case 4:
			entry := r.Uint32N(free + 1)
			if got, want := w.Cancel(entry), m.cancel(entry); got != want {
				t.Fatalf("cancel %d: %v, want %v", entry, got, want)
			}
		case 5: // stop half-way: the entries due by then are the first of those due in the end
			w.Advance(m.now+r.Int64N(spans[r.IntN(len(spans))]), r.IntN(3))
			m.now = max(m.now, w.now)
			w.moved(t, &m)
		default:
			now := m.now + r.Int64N(spans[r.IntN(len(spans))]+1)
			compareDue(t, drain(t, &w, now, 1+r.IntN(100)), m.take(now))
		}
		if w.size() != len(m.entries) {
			t.Fatalf("%d on the wheel, want %d", w.size(), len(m.entries))
		}
		if tick, ok := w.Next(); ok && w.due.first == 0 && tick > max(m.first(), w.now) {
			t.Fatalf("next is %d, but an entry falls due at %d", tick, m.first())
		}
		if _, ok := w.Next(); !ok && w.due.first == 0 && len(m.entries) > 0 {
			t.Fatal("nothing comes next, but entries are left")
		}
	}
}

// moved takes the entries that are due after a step that may have stopped half-way.
func (w *Wheel) moved(t *testing.T, m *model) {
	t.Helper()
	for e := w.Take(); e != 0; e = w.Take() {
		i := slices.IndexFunc(m.entries, func(x modelEntry) bool { return x.entry == e })
		if i < 0 || m.entries[i].tick > w.now {
			t.Fatalf("entry %d is due at %d and should not be", e, w.now)
		}
		m.entries = slices.Delete(m.entries, i, i+1)
	}
}

// compareDue compares the entries that fell due with those that should have: they must be the same,
// in any order.
func compareDue(t *testing.T, got []uint32, want []modelEntry) {
	t.Helper()
	ticks := map[uint32]int64{}
	for _, e := range want {
		ticks[e.entry] = e.tick
	}
	if len(got) != len(want) {
		t.Fatalf("%d are due, want %d", len(got), len(want))
	}
	for _, e := range got {
		if _, ok := ticks[e]; !ok {
			t.Fatalf("entry %d is due and should not be, or twice", e)
		}
		delete(ticks, e)
	}
}

// size returns the number of entries in the wheel, including due ones.
func (w *Wheel) size() (n int) {
	for _, page := range w.nodes.pages {
		for i := range page {
			if page[i].tick > 0 {
				n++
			}
		}
	}
	return n
}

func TestWheel_DoesAsItsModel(t *testing.T) {
	for seed := range uint64(200) {
		operations(t, rand.New(rand.NewPCG(seed, 7)), 500)
	}
}

// Entries added while none is due are returned in the order of their ticks and, within a tick, in
// the order in which they were added.
func TestWheel_KeepsOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 8))
		var w Wheel
		w.Advance(r.Int64N(1<<40), 1)
		var want []modelEntry
		for i := range uint32(500) {
			tick := w.now + 1 + r.Int64N(300)*r.Int64N(300)
			w.Add(tick, i+1)
			want = append(want, modelEntry{tick, i + 1})
		}
		slices.SortStableFunc(want, func(a, b modelEntry) int { return int(a.tick - b.tick) })
		var got []uint32
		for now := w.now; len(got) < len(want); now += r.Int64N(5000) {
			got = append(got, drain(t, &w, now, 1+r.IntN(50))...)
		}
		for i, e := range want {
			if got[i] != e.entry {
				t.Fatalf("seed %d: entry %d came as number %d, want %d", seed, got[i], i, e.entry)
			}
		}
	}
}

func FuzzWheel(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { operations(t, rand.New(rand.NewPCG(a, b)), 200) })
}

func TestWheel_AllocatesPagesOnly(t *testing.T) {
	var w Wheel
	w.Add(1, pageSize-1)
	tick := int64(1)
	allocations := testing.AllocsPerRun(1000, func() {
		tick += 7
		w.Add(tick+5000, 5)
		w.Cancel(5)
		w.Add(tick, 6)
		w.Advance(tick, 100)
		for w.Take() != 0 {
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkWheel_AddTakeAMillionPending(b *testing.B) {
	var w Wheel
	const pending = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(pending) {
		w.Add(1+r.Int64N(60_000), i+1)
	}
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		e := w.Take()
		for e == 0 {
			now++
			w.Advance(now, math.MaxInt)
			e = w.Take()
		}
		w.Add(now+60_000, e)
	}
}
